# shellcheck shell=bash disable=SC2034,SC2016
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the scripts share: messages, the cache folder, packages from apt, and
# private apt lists for suites that this machine does not itself follow.
#
# Source it from a bash script that has run "set -euo pipefail".
#
#   TOP        the clone
#   CACHE      ${XDG_CACHE_HOME:-$HOME/.cache}/qemu-ibswitch, created
#   PYTHON     Debian's own python3, the one that apt's modules belong to
#   JOBS       how many compilers to run at once
#   INSTALLED  empty until need_packages has installed something

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/qemu-ibswitch
PYTHON=/usr/bin/python3
JOBS=${JOBS:-$(nproc)}
INSTALLED=
mkdir -p "$CACHE"

# say TEXT...: one line of progress.
say() {
    printf '==> %s\n' "$*"
}

warn() {
    printf 'warning: %s\n' "$*" >&2
}

# die TEXT...: what went wrong and what to do about it; ends the script.
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# as_root COMMAND...: runs it as root, through sudo if need be.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        die "'$*' needs root: run this script as root or install sudo"
    fi
}

# with_lock NAME COMMAND...: runs it while no other with_lock NAME runs, in
# this clone or another one.  COMMAND may be a function; it runs in a
# subshell, so a variable that it sets is not seen outside.
with_lock() {
    local name=$1
    shift
    (
        if ! flock -n 9; then
            say "waiting for another run that holds the lock '$name'"
            flock 9
        fi
        "$@" 9>&-
    ) 9>"$CACHE/$name.lock"
}

debian_release() {
    # shellcheck disable=SC1091
    (. /etc/os-release && printf '%s\n' "${VERSION_CODENAME:-}")
}

have_package() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# apt_lists: fetches apt's lists if this machine has none yet.
apt_lists() {
    if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
        say "apt-get update: this machine has no package lists yet"
        as_root apt-get -q update ||
            die "apt-get update failed: see /etc/apt/sources.list*"
    fi
}

# need_packages PACKAGE...: installs those that are missing, saying which
# before it does.
need_packages() {
    local package missing=()

    for package; do
        have_package "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing with apt: ${missing[*]}"
    apt_lists
    if ! apt_install "${missing[@]}"; then
        say "apt-get update: the lists may be too old"
        as_root apt-get -q update || true
        apt_install "${missing[@]}" ||
            die "apt could not install: ${missing[*]} (its message is above)"
    fi
    INSTALLED=yes
}

apt_install() {
    as_root apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
        install --no-install-recommends "$@"
}

# debian_uri [security]: the URI of the Debian archive (or of its security
# archive) that this machine's apt uses.
debian_uri() {
    local label=Debian uri

    [ "${1:-}" != security ] || label=Debian-Security
    apt_lists >&2
    uri=$(apt-get indextargets --format '$(REPO_URI)' \
          'Origin: Debian' "Label: $label" 'Created-By: Packages' | head -n 1)
    if [ -z "$uri" ]; then
        [ "$label" = Debian ] || return 1
        die "no source of Debian packages in /etc/apt/sources.list*"
    fi
    printf '%s\n' "$uri"
}

# suite_apt KIND SUITE COMMAND...: runs an apt command (apt-get, apt-cache,
# /usr/lib/apt/apt-helper) that sees nothing but SUITE of the Debian archive,
# with lists and state of its own in the cache: neither this machine's
# sources nor its state is touched.  KIND is deb or deb-src.
#     suite_apt deb trixie apt-get download meson
suite_apt() {
    local kind=$1 suite=$2 tool=$3
    shift 3
    local root=$CACHE/apt/$suite.$kind

    "$tool" -q \
        -o Dir::Etc::SourceList="$root/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$root/state" -o Dir::State::Lists="$root/state/lists" \
        -o Dir::State::status="$root/status" \
        -o Dir::Cache="$root/cache" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

# suite_update KIND SUITE: makes or refreshes the lists that suite_apt reads;
# lists younger than a day are taken as they are.
suite_update() {
    local kind=$1 suite=$2 root=$CACHE/apt/$2.$1 uri

    if [ -n "$(find "$root/updated" -mtime -1 2>/dev/null)" ]; then
        return 0
    fi
    case $suite in
    *-security) uri=$(debian_uri security) || return 1 ;;
    *) uri=$(debian_uri) ;;
    esac
    mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial"
    : >"$root/status"
    printf '%s [signed-by=%s] %s %s main\n' "$kind" \
        /usr/share/keyrings/debian-archive-keyring.gpg "$uri" "$suite" \
        >"$root/sources.list"
    say "fetching the $kind lists of $suite"
    suite_apt "$kind" "$suite" apt-get -o APT::Update::Error-Mode=any \
        update || return 1
    touch "$root/updated"
}

# fetch_file KIND SUITE URI FILE SHA256: fetches it as apt does (its proxies
# and credentials hold) unless FILE is there and right.  Fails, leaving no
# FILE, when the URI gives none or one with another checksum.
fetch_file() {
    local kind=$1 suite=$2 uri=$3 file=$4 sum=$5

    if ! printf '%s  %s\n' "$sum" "$file" | sha256sum -c --status 2>/dev/null
    then
        rm -f "$file" "$file.part"
        suite_apt "$kind" "$suite" /usr/lib/apt/apt-helper download-file \
            "$uri" "$file.part" "SHA256:$sum" || return 1
        printf '%s  %s\n' "$sum" "$file.part" |
            sha256sum -c --status || return 1
        mv "$file.part" "$file"
    fi
}

# suite_source SUITE PACKAGE: the versions of a source package in SUITE,
# newest first.  Needs suite_update deb-src SUITE.
suite_source() {
    suite_apt deb-src "$1" apt-cache showsrc --only-source "$2" 2>/dev/null |
        sed -n 's/^Version: //p' | sort -ruV
}

# suite_source_files SUITE PACKAGE VERSION: one line "URI NAME SHA256" for
# each file of the source package.
suite_source_files() {
    suite_apt deb-src "$1" apt-get source --print-uris --only-source \
        "$2=$3" | sed -n "s/^'\([^']*\)' \([^ ]*\) [0-9]* SHA256:/\1 \2 /p"
}
