import { readFile } from 'node:fs/promises';
import { COMMAND_ENV, type SystemdOptions, whyUnmanaged } from '../apply/host/host-options.ts';
import { type JournalEntry, readJournal, syncJournal } from '../apply/host/systemd/read-journal.ts';
import { describeUnit, isFailed, readUnits, type SeenUnit } from '../apply/host/systemd/unit-state.ts';
import type { Section } from './section.ts';

/** Lines of the journal of a unit that runs, and of one that does not. */
const LINES = 200;
const LINES_OF_FAILED = 600;
const MAX_UNIT_BYTES = 64 << 10;
const MAX_FAILED_BYTES = 128 << 10;
const MAX_UNITS = 60;
const AGENT_LINES = 400;

/** Programs whose versions explain a failure; a missing one is left out. */
const PROGRAMS: readonly (readonly string[])[] = [
  ['uname', '-srm'],
  ['systemctl', '--version'],
  ['dpkg-query', '--showformat=${Version}\n', '--show', 'fleet-agent'],
  ['apt-get', '--version'],
  ['podman', '--version'],
  ['containerd', '--version'],
  ['ansible-playbook', '--version'],
];

/**
 * Collects versions, disks, and the state and journal of the units of our packages from the host. Only our units: the journals of others
 * are none of the office's business. @param units names
 */
export const collectHost = async (
  asked: SystemdOptions,
  units: readonly string[],
  signal: AbortSignal,
): Promise<readonly Section[]> => {
  const run = async (argv: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await asked.run(argv, {
      timeoutMs: 15_000,
      signal,
      cwd: '/',
      env: COMMAND_ENV,
    });
    return code === 0 ? stdout : `${argv[0]} ended with ${code}: ${stderr.trim()}\n`;
  };
  const versions = await Promise.all(
    PROGRAMS.map(async (argv) => {
      const { code, stdout } = await asked.run(argv, {
        timeoutMs: 15_000,
        signal,
        cwd: '/',
        env: COMMAND_ENV,
      });
      return code === 0 ? `${argv[0]}: ${stdout.split('\n')[0]}\n` : '';
    }),
  );
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const text = (path: string, content: string): Section => ({ path, content, maxBytes: 32 << 10 });
  return [
    text('versions.txt', `${versions.join('')}\n${release}`),
    text('disk.txt', `${await run(['df', '-PTk'])}\n${await run(['df', '-Pi'])}`),
    ...(whyUnmanaged(asked) === undefined ? await collectUnits(asked, units, run, signal) : []),
  ];
};

const collectUnits = async (
  asked: SystemdOptions,
  units: readonly string[],
  run: (argv: readonly string[]) => Promise<string>,
  signal: AbortSignal,
): Promise<readonly Section[]> => {
  await syncJournal(asked, signal);
  const seen = await readUnits(asked, units, signal).catch(() => new Map<string, SeenUnit>());
  const isBad = (unit: string): boolean => {
    const state = seen.get(unit)?.state;
    return state === undefined || isFailed(state) || state.load !== 'loaded';
  };
  // Failed ones first: a bundle that is full leaves out the journals of what runs.
  const ordered = [...units.filter(isBad), ...units.filter((unit) => !isBad(unit))];
  const said = units.map((unit) => `${unit}: ${describeUnitState(seen.get(unit))}\n`).join('');
  const failed = await run(['systemctl', '--no-pager', '--plain', '--no-legend', '--failed', 'list-units']);
  const sections: Section[] = [
    {
      path: 'units.txt',
      content: `${said}\nFailed on this host:\n${failed}`,
      maxBytes: 32 << 10,
    },
    await journalOf(
      asked,
      'journal/agent.log',
      { match: ['--unit=fleet-agent*'], lines: AGENT_LINES, maxBytes: MAX_FAILED_BYTES },
      signal,
    ),
  ];
  for (const [index, unit] of ordered.slice(0, MAX_UNITS).entries()) {
    const bad = isBad(unit);
    const name = `${String(index + 1).padStart(2, '0')}-${fileName(unit)}`;
    sections.push(
      await journalOf(
        asked,
        `journal/${name}.log`,
        {
          match: [`--unit=${unit}`],
          lines: bad ? LINES_OF_FAILED : LINES,
          maxBytes: bad ? MAX_FAILED_BYTES : MAX_UNIT_BYTES,
        },
        signal,
      ),
    );
  }
  return sections;
};

const describeUnitState = (seen: SeenUnit | undefined): string => {
  if (seen === undefined) return 'systemd does not answer';
  const { enablement, state } = seen;
  if (state === undefined) return `${enablement}, a template`;
  return `${enablement}, ${describeUnit(state)}, ${state.restarts} restarts, result ${state.result || '-'}`;
};

/** Of a path on media: 'Web@1.service' -> 'web_1.service'. */
const fileName = (unit: string): string =>
  unit
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '_')
    .slice(0, 70);

type Wanted = { readonly match: readonly string[]; readonly lines: number; readonly maxBytes: number };

const journalOf = async (
  asked: SystemdOptions,
  path: string,
  { match, lines, maxBytes }: Wanted,
  signal: AbortSignal,
): Promise<Section> => {
  const entries = await readJournal(asked, match, lines, signal).catch(() => []);
  return { path, content: entries.map(formatEntry).join(''), maxBytes, keep: 'end' };
};

/** Further lines of a message are indented, so that none of them looks like an entry. */
export const formatEntry = ({ at, by, text }: JournalEntry): string => {
  const time = Number.isFinite(at) ? new Date(Math.floor(at / 1000)).toISOString() : '-';
  return `${time} ${by}: ${text.replaceAll(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g, '\n    ')}\n`;
};
