#!/bin/bash
# node_exporter 1.5.0 (Debian 12), textfile collector: of a metric that two files have with another HELP, the second file's samples are lost, while node_textfile_scrape_error is 0.
#
# Guess before it was run: both files' samples are served, with one of the two texts, or the scrape fails with 500, or node_textfile_scrape_error is 1.
# Seen: 200, the samples of the file whose name sorts first, node_textfile_scrape_error 0, and node_textfile_mtime_seconds of both files. That a sample was dropped is
# in the log alone ("has help ... but should have ..."). Other samples of the same file stay. So two programs, or two versions of one, that
# describe a metric in other words hide each other, and the alarm on scrape_error is silent.
# Needs curl, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.5.0-1+b6
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "prometheus-node-exporter=$VERSION"
dpkg-deb -x ./*.deb root
mkdir metrics
printf '# HELP jobs Jobs done.\n# TYPE jobs gauge\njobs{line="1"} 1\n' > metrics/a.prom
printf '# HELP jobs Number of jobs.\n# TYPE jobs gauge\njobs{line="2"} 2\n# TYPE other gauge\nother 3\n' > metrics/b.prom
for port in 15891 25891 35891; do
  root/usr/bin/prometheus-node-exporter --web.listen-address="127.0.0.1:$port" --collector.disable-defaults --collector.textfile --collector.textfile.directory=metrics > log 2>&1 & server=$!
  for _ in $(seq 100); do
    kill -0 $server 2> /dev/null || continue 2
    curl -sf "http://127.0.0.1:$port/" > /dev/null && break 2
    sleep 0.1
  done
  kill $server 2> /dev/null || true
done
status=$(curl -s -o answer -w '%{http_code}' "http://127.0.0.1:$port/metrics")
samples=$(grep -E '^(jobs|other|node_textfile_scrape_error)' answer | paste -sd ' ')
logged=$(grep -c 'has help .* but should have' log || true)
echo "node_exporter $VERSION: $status; $samples; logged: $logged"
[ "$status" = 200 ] && [ "$samples" = 'jobs{line="1"} 1 node_textfile_scrape_error 0 other 3' ] && [ "$logged" -ge 1 ]
