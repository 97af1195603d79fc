#!/bin/sh
# Java 17 and Maven for the broker of the tests, openssl, iproute2, and a browser with its driver
# for the tests of the page: installed on Debian by root, asked for elsewhere.
set -eu

java_is_there() {
    java=java
    [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    [ "${version:-0}" -ge 17 ]
}

missing() {
    command -v openssl >/dev/null || echo openssl  # makes the certificates of a schema registry
    command -v ip >/dev/null || echo iproute2  # makes networks to be cut
    command -v chromium >/dev/null || echo chromium  # opens the page
    command -v chromedriver >/dev/null || echo chromium-driver
    [ -z "${KAFKA_BOOTSTRAP:-}" ] || return 0  # a broker runs already
    java_is_there || echo openjdk-17-jre-headless
    command -v mvn >/dev/null || echo maven
}

wanted=$(missing)
if [ -n "$wanted" ] && command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq
    # shellcheck disable=SC2086 # one word for each package
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
    wanted=$(missing)
fi
if [ -n "$wanted" ]; then
    echo "The tests need Java 17 or newer, Maven, openssl, iproute2, Chromium and its driver. Missing here:" $wanted >&2
    echo "Install them (on Debian: apt-get install $(echo $wanted)), or, for Java and Maven, name a running broker:" >&2
    echo "KAFKA_BOOTSTRAP=host:port make test" >&2
    exit 1
fi
