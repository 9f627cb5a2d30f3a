#!/usr/bin/env bash
# Unpack Debian's Prometheus and Alertmanager into a folder. It needs no root: packages are verified
# by apt, with lists in the folder if the machine's are missing. They need only the C library.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
packages=(prometheus prometheus-alertmanager)

command -v apt-get >/dev/null || { echo "no apt-get found" >&2; exit 1; }
cd "$folder" && rm -rf root debs && mkdir -p root debs lists/partial cache

download() { (cd debs && apt-get "$@" download -qq "${packages[@]}"); }
if ! download -o APT::Sandbox::User=root 2>/dev/null; then
  local_options=(-o APT::Sandbox::User= -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache")
  apt-get "${local_options[@]}" update -qq
  download "${local_options[@]}"
fi
for package in debs/*.deb; do
  dpkg-deb -x "$package" root
done
rm -rf debs lists cache

# Debian's Alertmanager has absolute paths of its templates: make them paths below the folder that it
# is started in, of the same length.
LC_ALL=C sed -i "s|/usr/share/prometheus/alertmanager|usr//share/prometheus/alertmanager|g" \
  root/usr/bin/prometheus-alertmanager
cat > alertmanager.new <<SH
#!/bin/sh
cd "$folder/root" && exec ./usr/bin/prometheus-alertmanager "\$@"
SH
chmod +x alertmanager.new && mv alertmanager.new alertmanager
ln -sf root/usr/bin/amtool amtool
ln -sf root/usr/bin/promtool promtool
./promtool --version
./alertmanager --version
ln -sf root/usr/bin/prometheus prometheus
