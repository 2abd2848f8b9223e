import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { cutText } from '#cli/cut-text';
import { stopIfAborted } from '../host-error.ts';
import { COMMAND_ENV, type CommandResult, type HostTargetOptions } from '../host-options.ts';

/** A slot that the boot loader can start. */
export type Slot = {
  /** 'rootfs.0' */
  readonly name: string;
  /** Of the bundle that RAUC wrote into it; undefined for what another program wrote. */
  readonly version: string | undefined;
};

export type RaucState = {
  readonly booted: Slot;
  /** Name of the slot that the boot loader starts next; undefined: RAUC does not know. */
  readonly primary: string | undefined;
  readonly slots: readonly Slot[];
};

const ASK_MS = 60_000;

/** Runs RAUC's program, which asks its service. A failure is a result. @throws FleetError TOOL_MISSING, ABORTED */
export const runRauc = async (
  options: Pick<HostTargetOptions, 'run'>,
  words: readonly string[],
  signal: AbortSignal,
  timeoutMs = ASK_MS,
): Promise<CommandResult> => {
  const result = await options.run(['rauc', ...words], { timeoutMs, signal, cwd: '/', env: COMMAND_ENV });
  stopIfAborted(signal);
  if (result.code !== 127) return result;
  throw new FleetError('TOOL_MISSING', 'the package has a system image, and RAUC is not on this host', {
    hint: 'Install the Debian packages rauc and rauc-service, and write /etc/rauc/system.conf',
  });
};

/**
 * Has RAUC mark a slot: `active` makes the boot loader start it next, `good` tells the boot loader that its system works.
 * @param slot a name, or 'booted' @returns why RAUC did not, as a sentence part; undefined if it did @throws FleetError TOOL_MISSING, ABORTED
 */
export const markSlot = async (
  options: Pick<HostTargetOptions, 'run'>,
  state: 'active' | 'good',
  slot: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const marked = await runRauc(options, ['status', `mark-${state}`, slot], signal);
  return marked.code === 0 ? undefined : raucSaid(marked);
};

/** The last line that a program of RAUC printed about its failure. */
export const raucSaid = ({ stdout, stderr }: CommandResult): string => {
  const lines = `${stdout}\n${stderr}`.split('\n').map((line) => line.trim());
  const reason = lines.findLast((line) => line.startsWith('LastError:'))?.slice('LastError:'.length);
  return cutText((reason ?? lines.findLast((line) => line !== '') ?? 'it printed nothing').trim(), 300);
};

/** @throws FleetError RAUC_BLOCKED where its service does not answer or says something else; TOOL_MISSING, ABORTED */
export const readRauc = async (
  options: Pick<HostTargetOptions, 'run'>,
  signal: AbortSignal,
): Promise<RaucState> => {
  const result = await runRauc(options, ['status', '--detailed', '--output-format=json'], signal);
  if (result.code !== 0) throw blocked(`rauc status ended with ${result.code}: ${raucSaid(result)}`);
  const state = parseRauc(result.stdout);
  if (state) return state;
  throw blocked('rauc status names no slot that this host has booted');
};

export const blocked = (message: string): FleetError =>
  new FleetError('RAUC_BLOCKED', message, {
    hint: '"rauc status" and "journalctl -u rauc" on the host say more; the agent tries again',
  });

/** Reads the JSON of `rauc status --detailed`; undefined for another form, or if no slot of it is booted. */
export const parseRauc = (text: string): RaucState | undefined => {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(document) || !Array.isArray(document['slots'])) return undefined;
  const found = document['slots'].flatMap((one: unknown) => (isRecord(one) ? Object.entries(one) : []));
  const slots = found.flatMap(([name, slot]) => {
    if (!isRecord(slot) || typeof slot['bootname'] !== 'string') return [];
    return [{ slot: toSlot(name, slot), isBooted: slot['state'] === 'booted' }];
  });
  const booted = slots.find(({ isBooted }) => isBooted)?.slot;
  const primary = document['boot_primary'];
  return (
    booted && {
      booted,
      primary: typeof primary === 'string' ? primary : undefined,
      slots: slots.map(({ slot }) => slot),
    }
  );
};

const toSlot = (name: string, slot: { readonly [key: string]: unknown }): Slot => {
  const status = isRecord(slot['slot_status']) ? slot['slot_status'] : {};
  const bundle = isRecord(status['bundle']) ? status['bundle'] : {};
  const { version } = bundle;
  // What RAUC began to write and did not end has a version, too.
  const isWhole = (status['status'] ?? 'ok') === 'ok';
  return { name, version: isWhole && typeof version === 'string' ? version : undefined };
};

/** Whether the boot loader starts a slot next, as far as RAUC knows: not every boot loader names it. */
export const isNext = ({ primary }: Pick<RaucState, 'primary'>, { name }: Slot): boolean =>
  primary === undefined || primary === name;

/** 'rootfs.1 with version 2' */
export const describeSlot = ({ name, version }: Slot): string =>
  version === undefined ? `${name}, which RAUC did not write` : `${name} with version ${version}`;
