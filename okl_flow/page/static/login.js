// Says so when the last token was wrong.
document.getElementById("wrong").hidden = location.search !== "?wrong";
