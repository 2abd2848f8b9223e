/**
 * `npm run bench host-look`: what a host costs that is as released: files, 20 units and 20 Debian packages on a booted Debian. A look
 * of the bundled agent beside `ansible-playbook --check` of the same content, in turn; then the idle service. FLEET_BENCH_ROUNDS (3),
 * FLEET_BENCH_SECONDS (60), FLEET_BENCH_FILES (200).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { FleetError } from '../bundles/errors.ts';
import { buildPrograms } from '../test/harness/run/build-programs.ts';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import type { TestPackage } from '../test/harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { startSiteHost } from '../test/integration/hosts/debs-host/site-host.ts';
import { debsPackage } from '../test/integration/hosts/debs-host/test-deb.ts';
import { gatherPart } from './gather-part.ts';
import { median } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 3);
const SECONDS = Number(process.env['FLEET_BENCH_SECONDS'] ?? 60);
const FILES = Number(process.env['FLEET_BENCH_FILES'] ?? 200);

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const fileText = (number: number): string => `number = ${number}\n`.repeat(40);
const unitText = (number: number): string =>
  `[Unit]\nDescription=Bench ${number}\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n`;

await using folder = await temporaryDirectory('bench-host-look');
const programs = join(folder.path, 'programs');
await buildPrograms(programs);
await bundleAgent(join(programs, 'agent'));
await using site = await startSiteHost('bench-host-look', await gatherPart('factoryBase'), [
  { from: programs, to: '/opt/programs', readOnly: true },
]);
// The installed agent, instead of the one from source.
await site.sh(
  `printf '#!/bin/sh\\nexec /usr/local/bin/node /opt/programs/agent/fleet-agent.mjs "$@"\\n' > /usr/bin/fleet-agent`,
);

type Run = { readonly wall: number; readonly cpu: number };
/** Wall seconds, and the CPU seconds of the command and its children, without those of systemd. */
const timed = async (script: string): Promise<Run> => {
  const said = await site.sh(
    `bash -c 'TIMEFORMAT="%R %U %S"; time { ${script}; } > /tmp/said 2>&1 || { cat /tmp/said; exit 1; }' 2>&1`,
  );
  const [wall = Number.NaN, user = Number.NaN, system = Number.NaN] = said.split(' ').map(Number);
  return { wall, cpu: user + system };
};

const content = async (): Promise<TestPackage> => ({
  ...(await debsPackage(
    site.folder(),
    'line',
    numbers(20).map((number) => ({ name: `bench-${number}`, version: '1.0' })),
  )),
  units: numbers(20).map((number) => ({
    name: `bench-${number}.service`,
    enabled: true,
    active: true,
    restartOn: [],
  })),
});
const made = await content();
const files = Object.fromEntries([
  ...numbers(FILES).map((number) => [`/etc/bench/${number}.conf`, fileText(number)] as const),
  ...numbers(20).map((number) => [`/etc/systemd/system/bench-${number}.service`, unitText(number)] as const),
]);
process.stdout.write(
  `Applying ${FILES} files, 20 units, 20 Debian packages; load ${loadavg()[0]?.toFixed(1)} ...\n`,
);
await site.applied({ ...made, files: { ...made.files, ...files } });

const play = join(site.media, 'play');
for (const [name, text] of Object.entries(files)) {
  const at = name.startsWith('/etc/bench/') ? 'files/bench' : 'files/units';
  await mkdir(join(play, at), { recursive: true });
  await writeFile(join(play, at, name.slice(name.lastIndexOf('/') + 1)), text);
}
await writeFile(
  join(play, 'site.yml'),
  `- hosts: all
  gather_facts: false
  tasks:
    - copy: {src: files/bench/, dest: /etc/bench/, mode: "0644"}
    - copy: {src: files/units/, dest: /etc/systemd/system/, mode: "0644"}
    - apt: {name: [${numbers(20)
      .map((number) => `bench-${number}`)
      .join(', ')}], state: present}
    - systemd: {name: "bench-{{ item }}", state: started, enabled: true}
      loop: "{{ range(20) | list }}"
`,
);
const checkMode =
  'cd /media/play && ansible-playbook --check --connection local --inventory localhost, --extra-vars ansible_python_interpreter=/usr/bin/python3 site.yml';
const look = `FLEET_NOW=2026-11-21T08:00:00Z fleet-agent diff`;
const looks: Run[] = [];
const checks: Run[] = [];
// The first look compiles.
await timed(look);
for (let round = 0; round < ROUNDS; round++) {
  looks.push(await timed(look));
  checks.push(await timed(checkMode));
  const recap = await site.sh('grep -o "changed=[0-9]*" /tmp/said');
  if (recap !== 'changed=0') throw new FleetError('IO', `the playbook found a difference: ${recap}`);
}
const wallOf = (runs: readonly Run[]): number => median(runs.map(({ wall }) => wall));
const row = (what: string, runs: readonly Run[]): readonly string[] => [
  what,
  figure(wallOf(runs)),
  figure(wallOf(runs) / wallOf(looks)),
  figure(median(runs.map(({ cpu }) => cpu))),
];
process.stdout.write(
  `\nA look that finds no difference, median of ${ROUNDS}; load ${loadavg()[0]?.toFixed(1)}.\n\n`,
);
process.stdout.write(
  `${formatTable(
    ['what', 'wall s', 'x', 'cpu s'],
    [row('fleet-agent diff', looks), row('ansible-playbook --check', checks)],
  )}\n`,
);

await site.sh(
  `echo FLEET_NOW=2026-11-21T08:00:00Z > /etc/default/fleet-agent; systemctl start fleet-agent; sleep 20`,
);
const idle = await site.sh(`pid=$(systemctl show -P MainPID fleet-agent)
  ticks() { sed 's/.*) //' /proc/$pid/stat | cut -d ' ' -f 12,13 | tr ' ' '+' | xargs -I % sh -c 'echo $((%))'; }
  before=$(ticks); sleep ${SECONDS}; after=$(ticks)
  echo $(grep VmRSS /proc/$pid/status | tr -cd 0-9) $((after - before)) $(getconf CLK_TCK)`);
await site.sh('systemctl stop fleet-agent');
const [kib = 0, ticks = 0, hertz = 100] = idle.split(' ').map(Number);
process.stdout.write(`\nThe idle service, ${SECONDS} s.\n\n`);
process.stdout.write(
  `${formatTable(['RSS MiB', 'CPU % of a core'], [[figure(kib / 1024), ((100 * ticks) / hertz / SECONDS).toFixed(3)]])}\n`,
);
