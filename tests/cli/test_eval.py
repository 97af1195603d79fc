"""`okl-flow eval`, from the words of the call to what is printed."""

import gzip
import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from okl_flow import make_learner
from okl_flow.evaluation import median_distance
from okl_flow.rescaling import Moments, Rescaling

CANCER = ["eval", "cancer.libsvm.gz", "--learner", "kogd"]
IRIS = ["eval", "iris.csv", "--learner", "kogd"]
DIABETES = ["eval", "diabetes.jsonl", "--learner", "kogd"]


def cancer(kind="none"):
    X, y = load_breast_cancer(return_X_y=True)
    moments = Moments()
    moments.add(X)
    return Rescaling(kind, moments).apply(X), 2.0 * y - 1.0


def mean(measured):
    return measured["mean"]


def untimed(found):
    return [
        {key: value for key, value in one.items() if key != "events_per_second"} for one in found
    ]


@pytest.mark.parametrize("kind", ["none", "minmax", "standard"])
def test_a_run_in_order_is_the_plain_loop(objects, kind):
    [found] = objects(*CANCER, "--set", "bandwidth=2", "--rescale", kind)
    X, y = cancer(kind)
    learner = make_learner("kogd", bandwidth=2)
    scores = learner.step(learner.init(30), X, y)
    assert mean(found["mistake_rate"]) == np.mean(y * scores <= 0)
    assert mean(found["mistake_rate_papers"]) == np.mean(y * scores < 0)
    assert mean(found["majority_rate"]) == pytest.approx(np.mean(y < 0))
    assert mean(found["loss"]) == pytest.approx(np.mean(np.maximum(0, 1 - y * scores)))
    assert (found["n"], found["dim"], found["task"]) == (569, 30, "binary")


def test_an_object_has_all_that_programs_look_for(objects):
    [found] = objects(*CANCER, "--set", "budget=5")
    assert found["learner"] == "kogd"
    assert found["data"] == "cancer.libsvm.gz"
    assert found["permutations"] == 0
    assert found["config"] == make_learner("kogd", budget=5).describe()
    assert found["rows"] == {"mean": 5.0, "std": 0.0}
    for name in (
        "mistake_rate",
        "mistake_rate_papers",
        "majority_rate",
        "loss",
        "events_per_second",
        "state_bytes",
    ):
        assert found[name].keys() == {"mean", "std"}
        assert found[name]["mean"] > 0.0
        assert found[name]["std"] == 0.0


def test_a_regression_is_measured_by_errors(objects):
    [found] = objects(*DIABETES, "--set", "learning_rate=0.4")
    assert found["task"] == "regression"
    assert 60 < mean(found["mae"]) < mean(found["rmse"])
    assert 75 < mean(found["rmse_of_running_mean"]) < 90
    assert "mistake_rate" not in found


def test_classes_may_be_words(objects):
    [found] = objects(*IRIS, "--set", "learning_rate=0.5")
    assert (found["task"], found["config"]["classes"]) == ("multiclass", 3)
    assert mean(found["mistake_rate"]) < 0.2
    assert mean(found["majority_rate"]) == pytest.approx(2 / 3)


def test_the_task_may_be_given(objects):
    [found] = objects(*CANCER, "--task", "regression")
    assert found["task"] == "regression"
    [found] = objects(*CANCER, "--task", "multiclass")
    assert (found["task"], found["config"]["classes"]) == ("multiclass", 2)


def test_permutations_give_deviations(objects):
    words = [*CANCER, "--rescale", "minmax", "--permutations", "3", "--seed", "4"]
    [found] = objects(*words)
    X, y = cancer("minmax")
    learner = make_learner("kogd")
    rates = []
    for number in range(3):
        order = np.random.default_rng([4, number]).permutation(len(y))
        scores = learner.step(learner.init(30, seed=4 + number), X[order], y[order])
        rates.append(np.mean(y[order] * scores <= 0))
    assert found["mistake_rate"]["mean"] == pytest.approx(np.mean(rates))
    assert found["mistake_rate"]["std"] == pytest.approx(np.std(rates, ddof=1))
    assert found["rows"]["std"] > 0.0
    assert found["permutations"] == 3
    assert untimed([found]) == untimed(objects(*words, "--batch", "50"))


def test_batches_change_nothing(objects):
    assert untimed(objects(*IRIS)) == untimed(objects(*IRIS, "--batch", "7"))


def test_standard_input_gives_what_the_file_gives(files, objects):
    data = (files / "cancer.libsvm.gz").read_bytes()
    [from_file] = objects(*CANCER)
    words = ["eval", "-", "--learner", "kogd", "--dim", "30"]
    for stdin in (data, gzip.decompress(data)):
        [piped] = objects(*words, stdin=stdin)
        assert piped["data"] == "-"
        assert untimed([{**piped, "data": ""}]) == untimed([{**from_file, "data": ""}])
    [permuted] = objects(*CANCER, "--permutations", "2")
    [piped] = objects(*words, "--permutations", "2", stdin=data)
    assert untimed([{**piped, "data": ""}]) == untimed([{**permuted, "data": ""}])


def test_standard_input_may_have_a_format_and_classes(files, objects):
    text = (files / "iris.csv").read_bytes()
    words = ["eval", "-", "--format", "csv", "--learner", "kogd"]
    labels = ["--labels", "virginica,setosa,versicolor"]
    [piped] = objects(*words, *labels, stdin=text)
    [from_file] = objects(*IRIS)
    assert untimed([{**piped, "data": ""}]) == untimed([{**from_file, "data": ""}])
    text = (files / "diabetes.jsonl").read_bytes()
    [piped] = objects(
        "eval", "-", "--format", "jsonl", "--learner", "kogd", "--task", "regression", stdin=text
    )
    assert untimed([{**piped, "data": ""}]) == untimed([{**objects(*DIABETES)[0], "data": ""}])


def test_the_best_of_a_grid_is_reported(objects):
    grid = ["--grid", "bandwidth=0.5,2,8", "--grid", "learning_rate=0.1,0.9"]
    [found] = objects(*IRIS, *grid, "--permutations", "2")
    rates = {}
    for bandwidth in ("0.5", "2", "8"):
        for rate in ("0.1", "0.9"):
            words = ["--set", f"bandwidth={bandwidth}", "--set", f"learning_rate={rate}"]
            [single] = objects(*IRIS, *words, "--permutations", "2")
            rates[float(bandwidth), float(rate)] = mean(single["mistake_rate"])
    assert found["tried"] == 6
    assert len(set(rates.values())) > 1
    assert mean(found["mistake_rate"]) == min(rates.values())
    chosen = found["chosen"]["bandwidth"], found["chosen"]["learning_rate"]
    assert rates[chosen] == min(rates.values())
    assert (found["config"]["bandwidth"], found["config"]["learning_rate"]) == chosen


@pytest.mark.parametrize("runs", [[], ["--permutations", "1"]])
def test_the_bandwidth_may_follow_the_median_distance(objects, runs):
    X, _y = cancer("standard")
    median = median_distance(X, seed=0)
    words = [*CANCER, "--rescale", "standard", *runs]
    for text, factor in (("median", 1.0), ("median*0.5", 0.5), ("2*median", 2.0)):
        [found] = objects(*words, "--grid", f"bandwidth={text}")
        assert found["config"]["bandwidth"] == pytest.approx(factor * median, rel=1e-12)


def test_one_pass_serves_many_learners_on_a_pipe(objects):
    lines = b"".join(b"%d 1:%d\n" % (i % 2, i % 2 + 1) for i in range(100))
    words = ["eval", "-", "--dim", "1", "--learner", "kogd", "--grid", "bandwidth=0.1,1,10"]
    [found] = objects(*words, stdin=lines)
    assert found["tried"] == 3
    assert found["n"] == 100


def test_events_without_labels_are_scored_but_not_counted(objects, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("p,label\n1,1\n2,\n3,0\n4,\n")
    [found] = objects("eval", str(path), "--learner", "kogd")
    assert (found["n"], found["labelled"]) == (4, 2)
    assert mean(found["majority_rate"]) == 0.5


def test_the_table_shows_each_learner(call):
    result = call(*CANCER, "--rescale", "minmax", "--set", "budget=50")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "cancer.libsvm.gz: 569 events, 30 features"
    expected = (
        "task binary (2 labels: -1, 1); rescaling minmax; in order, one pass, seed 0; budget 50"
    )
    assert lines[1] == expected
    assert re.split(" {2,}", lines[2].strip()) == [
        "learner",
        "mistakes, %",
        "papers' rule, %",
        "majority, %",
        "loss",
        "events/s",
        "rows",
        "bytes",
    ]
    assert re.search(r"^ kogd +[\d.]+ +[\d.]+ +37\.26 +[\d.]+ +[\d,]+ +50 +[\d,]+$", lines[4])


def test_deviations_and_choices_are_in_the_table(call):
    grid = ["--grid", "bandwidth=median,3"]
    lines = call(*CANCER, "--permutations", "2", *grid).stdout.splitlines()
    assert "2 permutations, seed 0" in lines[1]
    assert lines[2] == "best of up to 2 settings, chosen on these very runs"
    assert "37.26  " in lines[-1]
    assert re.search(r"\d\.\d\d ± \d\.\d\d", lines[-1])
    assert re.search(r"bandwidth=(3|\d+(\.\d+)? \(median\))$", lines[-1])


def test_markdown_is_a_table_of_github(call):
    lines = call(*IRIS, "--markdown").stdout.splitlines()
    assert lines[-3].startswith("| learner | mistakes, % | papers' rule, % |")
    assert re.fullmatch(r"\|( ---:? \|)+", lines[-2])
    assert lines[-1].startswith("| kogd | ")
    assert len({line.count("|") for line in lines[-3:]}) == 1


@pytest.mark.parametrize("words", [[], ["--permutations", "2"]])
@pytest.mark.parametrize("data", [CANCER, DIABETES])
def test_the_plot_is_a_picture(call, tmp_path, data, words):
    path = tmp_path / "errors.png"
    result = call(*data, "--plot", str(path), *words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert len(path.read_bytes()) > 10_000


def test_the_plot_shows_what_was_measured(call, tmp_path, monkeypatch):
    from matplotlib.figure import Figure  # noqa: PLC0415

    axes = []
    add_subplot = Figure.add_subplot
    monkeypatch.setattr(
        Figure, "add_subplot", lambda self: axes.append(add_subplot(self)) or axes[-1]
    )
    path = str(tmp_path / "errors.png")
    [found] = [json.loads(call(*CANCER, "--plot", path, "--window", "40", "--json").stdout)]
    legend = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert legend[0] == f"kogd {100 * mean(found['mistake_rate']):.2f} %"
    assert legend[1] == "always the largest class 37.26 %"
    assert legend[2] == "thin: last 40 events"
    sliding, whole, baseline = axes[0].get_lines()[:3]
    assert whole.get_ydata()[-1] == pytest.approx(100 * mean(found["mistake_rate"]))
    assert sliding.get_xdata()[0] == 40
    assert baseline.get_ydata()[0] == pytest.approx(37.26, abs=0.01)


def test_without_matplotlib_the_plot_is_refused(refusal, monkeypatch, tmp_path):
    monkeypatch.setattr("okl_flow.plotting.style.find_spec", lambda _name: None)
    message = refusal(*CANCER, "--plot", str(tmp_path / "a.png"))
    assert message == "--plot needs matplotlib: pip install 'okl-flow[plot]'"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval", "absent", "--learner", "kogd"], "absent: no such file or directory"),
        (["eval", ".", "--learner", "kogd"], ".: it is a directory, and a file was expected"),
        (["eval", "iris.csv"], "Missing option '--learner' (see "),
        (["eval"], "Missing argument 'DATA' (see "),
        (["evil"], "No such command 'evil'. Did you mean 'eval'? (see "),
        (["eval", "x", "--lerner", "a"], "No such option: --lerner"),
        (["eval", "x", "--learner", "kodg"], "there is no learner 'kodg'; did you mean 'kogd'?"),
        ([*IRIS, "--learner", "kogd"], "learner kogd is given twice"),
        ([*IRIS, "--batch", "0"], "Invalid value for '--batch'"),
        ([*IRIS, "--permutations", "x"], "Invalid value for '--permutations'"),
        ([*IRIS, "--rescale", "min"], "--rescale: there is no 'min'; did you mean 'minmax'?"),
        ([*IRIS, "--task", "binary"], "a binary task has 2 labels, and here are 3"),
        (
            [*IRIS, "--task", "regression"],
            "iris.csv, line 2, column 5 ('label'): expected a finite number as label, found",
        ),
        ([*IRIS, "--task", "multi"], "there is no task 'multi'; did you mean 'multiclass'?"),
        (
            [*IRIS, "--label", "class"],
            "iris.csv, line 1: no column is named 'class'; the columns are 'sepal length', ",
        ),
        ([*IRIS, "--dim", "4"], "iris.csv: the number of features is given for LIBSVM only"),
        ([*IRIS, "--format", "xml"], "there is no format 'xml'"),
        (
            [*IRIS, "--labels", "setosa,versicolor,other"],
            "iris.csv, line 3, column 5 ('label'): expected one of the labels "
            "other, setosa, versicolor, found 'virginica'",
        ),
        ([*IRIS, "--labels", "setosa"], "--labels setosa: at least 2 labels are needed"),
        ([*IRIS, "--labels", "a,b,a"], "--labels a,b,a: 'a' is given twice"),
        ([*IRIS, "--labels", "a,,b"], "--labels a,,b: '' stands for no label"),
        (
            [*DIABETES, "--task", "regression", "--labels", "1,2"],
            "--labels names classes, and a regression has none",
        ),
        (
            ["eval", "diabetes.jsonl", "--learner", "perceptron"],
            "perceptron does not do regression",
        ),
        ([*IRIS, "--json", "--markdown"], "--json and --markdown exclude each other"),
        ([*IRIS, "--window", "5"], "--window is the window of --plot, which is not given"),
        ([*IRIS, "--plot", "a.pdf"], "--plot a.pdf: the picture must be a .png or a .svg"),
        ([*IRIS, "--plot", "no/a.png"], "--plot no/a.png: there is no directory no"),
        ([*IRIS, "--set", "budget=0"], "KOGD: budget must be a whole number at least 1 or None"),
    ],
)
def test_wrong_usage_is_explained(refusal, words, message):
    assert refusal(*words).startswith(message)


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        ("", b"1 1:1", "standard input goes by once, and LIBSVM text does not say how many"),
        ("--dim 1", b"1 1:1\n1 2:1", "standard input, line 2, character 3: expected an"),
        ("--dim 1", b"", "standard input: there are no events in it"),
        ("--dim 1", b"7 1:1", "standard input, line 1, character 1: expected one of the"),
        ("--dim 1", b"0 1:1\n-1 1:1", "standard input, line 2, character 1: expected one"),
        ("--dim 1 --rescale minmax", b"1 1:1", "--rescale takes a pass of its own"),
        ("--dim 1 --task multiclass", b"1 1:1", "standard input goes by once: give --labels"),
        ("--dim 1 --grid bandwidth=median", b"1 1:1", "standard input goes by once, so"),
        ("--format csv", b"p,q\n1,1", "standard input, line 1: no column is named 'label'"),
        (
            "--dim 1 --labels a,b",
            b"a 1:1\n" * 3000 + b"c 1:1\n",
            "standard input, line 3001, character 1: expected one of the labels a, b, found 'c'",
        ),
    ],
)
def test_a_pipe_must_be_described(refusal, words, stdin, message):
    words = ["eval", "-", "--learner", "kogd", *words.split()]
    assert refusal(*words, stdin=stdin).startswith(message)


@pytest.mark.parametrize("text", ["1 1:1\n1 1:2\n", "spam 1:1\nspam 1:2\n"])
def test_a_task_that_cannot_be_told_is_asked_for(refusal, tmp_path, text):
    path = tmp_path / "a"
    path.write_text(text)
    message = refusal("eval", str(path), "--learner", "kogd")
    assert message.startswith("the only label is ")


def test_a_file_without_labels_is_refused(refusal, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("p,label\n1,\n")
    message = "no event has a label, so there is nothing to measure by"
    assert refusal("eval", str(path), "--learner", "kogd") == message
    assert refusal("eval", str(path), "--learner", "kogd", "--task", "binary") == message


def test_damage_is_found_before_anything_is_learned(refusal, files, tmp_path):
    text = (files / "iris.csv").read_text() + "1,2,x,4,setosa\n"
    (tmp_path / "a.csv").write_text(text)
    message = refusal("eval", str(tmp_path / "a.csv"), "--learner", "kogd")
    assert "line 152, column 3 ('petal length'): expected a finite number, found 'x'" in message


def test_a_label_that_does_not_fit_is_found_before_anything_is_learned(
    refusal, tmp_path, monkeypatch
):
    monkeypatch.setattr("okl_flow.cli.plan.run", lambda *_, **__: pytest.fail("it has begun"))
    path = tmp_path / "a"
    path.write_text("a 1:1\n" * 3000 + "b 1:1\n" + "c 1:1\n")
    message = refusal("eval", str(path), "--learner", "kogd", "--labels", "a,b")
    assert "line 3002, character 1: expected one of the labels a, b, found 'c'" in message
