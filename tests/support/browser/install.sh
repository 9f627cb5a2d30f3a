#!/usr/bin/env bash
# Unpack Debian's Chromium, with the libraries and fonts that this machine lacks, into a folder. It
# needs no root: packages are resolved and verified by apt, with lists in the folder if need be.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
packages=(chromium fonts-ipafont-gothic fonts-noto-color-emoji)

command -v apt-get >/dev/null || { echo "no apt-get found" >&2; exit 1; }
cd "$folder" && rm -rf root debs && mkdir -p root debs lists/partial cache

missing() { apt-get "$@" install --print-uris -y --no-install-recommends "${packages[@]}" | sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p"; }
apt_options=(-o APT::Sandbox::User=root)
if ! names=$(missing "${apt_options[@]}" 2>/dev/null); then
  apt_options=(-o APT::Sandbox::User= -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache")
  apt-get "${apt_options[@]}" update -qq
  names=$(missing "${apt_options[@]}")
fi
# shellcheck disable=SC2086 # a name a word
[ -z "$names" ] || (cd debs && apt-get "${apt_options[@]}" download -qq $names)
for package in debs/*.deb; do
  [ ! -e "$package" ] || dpkg-deb -x "$package" root
done
rm -rf debs lists cache

cat > fonts.conf <<XML
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>$folder/root/usr/share/fonts</dir>
<cachedir>$folder/fonts</cachedir>
</fontconfig>
XML
program=$folder/root/usr/lib/chromium/chromium
[ -x "$program" ] || program=$(command -v chromium)
libraries=$(printf '%s:' root/usr/lib/*-linux-gnu root/usr/lib/*-linux-gnu/pulseaudio | sed "s|root/|$folder/root/|g")
cat > chromium.new <<SH
#!/bin/sh
export LD_LIBRARY_PATH="$libraries" FONTCONFIG_FILE="$folder/fonts.conf"
exec "$program" "\$@"
SH
chmod +x chromium.new
./chromium.new --version --no-sandbox
mv chromium.new chromium
