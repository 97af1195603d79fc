"""Settings of librdkafka in a file: those of security do not belong where all can see them."""

from pathlib import Path

from okl_flow.placeholders import filled

__all__ = ["read_properties"]


def read_properties(path: str | Path) -> dict[str, str]:
    r"""The settings of a file, a line `name=value` for each; `#` begins a comment.

    A value may name variables of the environment: `sasl.password=${KAFKA_PASSWORD}`. A ValueError
    says what is wrong, and shows no value.

    >>> file = getfixture("tmp_path") / "client.properties"
    >>> _ = file.write_text("# ours\nsecurity.protocol = SASL_SSL\n")
    >>> read_properties(file)
    {'security.protocol': 'SASL_SSL'}
    """
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected text in UTF-8") from None
    settings = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{path}, line {number}: expected name=value")
        settings[name.strip()] = filled(value.strip(), f"{path}, line {number}")
    return settings
