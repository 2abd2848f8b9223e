import { type SystemdOptions, COMMAND_ENV } from '../host-options.ts';

/** One entry of the journal, as it was written. */
export type JournalEntry = {
  /** Microseconds since 1970 by the clock of the machine. */
  readonly at: number;
  /** Its program and process: 'press[812]'. Only process 1 is 'systemd', only the kernel 'kernel', only the agent's units 'fleet-agent'. */
  readonly by: string;
  readonly text: string;
};

const TIMEOUT_MS = 20_000;

/**
 * The newest entries of the journal that match, oldest first; none where no journal can be read. A message of any bytes is read, so that no
 * escape sequence hides it.
 * @param match of journalctl: '--unit=press.service', '_SYSTEMD_INVOCATION_ID=...', '+'
 */
export const readJournal = async (
  { run }: Pick<SystemdOptions, 'run'>,
  match: readonly string[],
  lines: number,
  signal: AbortSignal,
): Promise<readonly JournalEntry[]> => {
  // Newest first: output beyond the limit of `run` is dropped at its end.
  const words = [
    '--no-pager',
    '--quiet',
    '--all',
    '--reverse',
    '--output=json',
    '--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_COMM,_PID,_SYSTEMD_UNIT',
    `--lines=${lines}`,
  ];
  const { code, stdout } = await run(['journalctl', ...words, ...match], {
    timeoutMs: TIMEOUT_MS,
    signal,
    cwd: '/',
    env: COMMAND_ENV,
  });
  if (code !== 0) return [];
  return stdout
    .split('\n')
    .flatMap((line) => parseEntry(line) ?? [])
    .toReversed();
};

/** Waits until the journal has what was printed before this call. */
export const syncJournal = async (
  { run }: Pick<SystemdOptions, 'run'>,
  signal: AbortSignal,
): Promise<void> => {
  await run(['journalctl', '--sync'], { timeoutMs: TIMEOUT_MS, signal, cwd: '/', env: COMMAND_ENV });
};

/** Undefined for a line that was cut. */
export const parseEntry = (line: string): JournalEntry | undefined => {
  let fields: { readonly [name: string]: unknown };
  try {
    fields = JSON.parse(line) as typeof fields;
  } catch {
    return undefined;
  }
  const text = textOf(fields['MESSAGE']);
  if (text === undefined) return undefined;
  return { at: Number(fields['__REALTIME_TIMESTAMP']), by: writerOf(fields), text };
};

const MAX_NAME = 64;

/**
 * A program chooses its identifier, which journald only relays; it sets fields that begin with _ itself (systemd.journal-fields(7)). So an
 * identifier keeps the characters of a name, and one of the system's counts only where these fields agree.
 */
const writerOf = (fields: { readonly [name: string]: unknown }): string => {
  const said = textOf(fields['SYSLOG_IDENTIFIER']) ?? textOf(fields['_COMM']) ?? '';
  const name = said.replaceAll(/[^A-Za-z0-9_.@:+()-]/g, '_').slice(0, MAX_NAME);
  const process = textOf(fields['_PID']);
  const unit = textOf(fields['_SYSTEMD_UNIT']) ?? 'a program without a unit';
  if (process === undefined) return name;
  const isForged =
    name === 'kernel' ||
    (name === 'systemd' && process !== '1') ||
    (name.startsWith('fleet-agent') && !unit.startsWith('fleet-agent'));
  return `${isForged ? unit : name}[${process}]`;
};

/** journalctl gives bytes that are not printable as a list of numbers, and a field of several values as a list of them. */
const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  return value.every((byte) => typeof byte === 'number')
    ? Buffer.from(value as readonly number[]).toString('utf8')
    : textOf(value[0]);
};
