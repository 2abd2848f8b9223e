import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { missingBlob, verifyAll } from '#bundles/formats/layout/verified';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import { errno, hostError, stopIfAborted } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { RaucActivateDetail, RaucBootDetail, RaucInstallDetail } from '../rauc/rauc-step.ts';
import {
  blocked,
  describeSlot,
  isNext,
  markSlot,
  raucSaid,
  readRauc,
  runRauc,
  type Slot,
} from '../rauc/read-rauc.ts';
import { readBoot } from '../reboot/read-boot.ts';
import { requestReboot } from '../reboot/request-reboot.ts';

/** Long enough for an image of many gigabytes on a slow disk. */
const INSTALL_MS = 3_600_000;
const IDLE_PAUSE_MS = 500;

const done = ({ key, outcome, reason }: Step): StepResult => ({ key, outcome, reason });

/**
 * Has RAUC verify the bundle by its own keyring and write it into the slot that is not booted. Where a power cut after the
 * installation has booted that slot already, nothing is written: the other slot is the way back.
 * @throws FleetError RAUC_FAILED, RAUC_BLOCKED, TOOL_MISSING, MISSING_BLOB, DIGEST_MISMATCH, ABORTED
 */
export const executeRaucInstall = async (
  options: HostTargetOptions,
  step: Step,
  { version, digest, size }: RaucInstallDetail,
  desired: DesiredPackage | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  if ((await readRauc(options, signal)).booted.version === version) return done(step);
  await forgetAsked(options);
  const { blobs } = desired ?? {};
  if (!blobs?.path) throw missingBlob(digest, 'the store');
  await verifyAll({ digest, size }, await blobs.open(digest, signal), blobs.name);
  await untilIdle(options, signal);
  const installed = await runRauc(options, ['install', blobs.path(digest)], signal, INSTALL_MS);
  if (installed.code !== 0)
    throw failed(`RAUC does not install the bundle of version ${version}: ${raucSaid(installed)}`);
  const state = await readRauc(options, signal);
  const others = state.slots.filter((slot) => slot.name !== state.booted.name && isNext(state, slot));
  if (others.some((slot) => slot.version === version)) return done(step);
  const next = state.slots.filter((slot) => isNext(state, slot)).map(describeSlot);
  throw failed(
    `RAUC installed the bundle of version ${version}, and the boot loader would start ${next.join(' or ')}`,
  );
};

/** Waits until RAUC is idle: an installation outlives the program that asked for it, and RAUC refuses a second one meanwhile. */
const untilIdle = async (options: HostTargetOptions, signal: AbortSignal): Promise<void> => {
  const question = 'de.pengutronix.rauc / de.pengutronix.rauc.Installer Operation'.split(' ');
  for (let waited = 0; waited < INSTALL_MS; waited += IDLE_PAUSE_MS) {
    const argv = ['busctl', '--system', 'get-property', ...question];
    const { code, stdout } = await options.run(argv, { timeoutMs: 60_000, signal, cwd: '/' });
    stopIfAborted(signal);
    if (code !== 0 || stdout.includes('"idle"')) return;
    await sleep(IDLE_PAUSE_MS, undefined, { signal }).catch(() => {});
    stopIfAborted(signal);
  }
  throw blocked('RAUC is still busy with another installation');
};

/** Makes a slot the one that the boot loader starts next. @throws FleetError RAUC_FAILED, RAUC_BLOCKED, TOOL_MISSING, ABORTED */
export const executeRaucActivate = async (
  options: HostTargetOptions,
  step: Step,
  { slot }: RaucActivateDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  if ((await readRauc(options, signal)).primary === slot) return done(step);
  await forgetAsked(options);
  await untilIdle(options, signal);
  await mark(options, 'active', slot, signal);
  return done(step);
};

const mark = async (
  options: HostTargetOptions,
  state: 'active' | 'good',
  slot: string,
  signal: AbortSignal,
): Promise<void> => {
  const refusal = await markSlot(options, state, slot, signal);
  if (refusal !== undefined) throw failed(`RAUC does not mark ${slot} ${state}: ${refusal}`);
};

/**
 * Reboots the host until it runs the wanted system. The boot that is to end is on disk before systemd is asked. In a later boot
 * another system is a failure: the boot loader did not start the wanted one, and systemd is not asked again.
 * @throws FleetError ABORTED when systemd has agreed, RAUC_FAILED, REBOOT_REFUSED, RAUC_BLOCKED
 */
export const executeRaucBoot = async (
  options: HostTargetOptions,
  step: Step,
  detail: RaucBootDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { booted } = await readRauc(options, signal);
  if (isWanted(booted, detail)) {
    if ('slot' in detail) await mark(options, 'good', 'booted', signal);
    await forgetAsked(options);
    return done(step);
  }
  const boot = readBoot();
  if (boot === undefined) throw failed('the agent cannot distinguish the boots of this host');
  const asked = await readAsked(options);
  if (asked !== undefined && asked !== boot)
    throw failed(
      `after the reboot the host runs ${describeSlot(booted)}: the boot loader did not start ${describeSystem(detail)}`,
    );
  await writeFileAtomically(askedFile(options), Buffer.from(boot), 0o600);
  await requestReboot(options, `the system changes to ${describeSystem(detail)}`, signal);
  // No signal interrupts a step, and systemd stops the agent in a moment.
  throw new FleetError('ABORTED', 'the host is going down', {
    hint: 'The agent continues after the next start',
  });
};

const isWanted = (booted: Slot, detail: RaucBootDetail): boolean =>
  'slot' in detail ? booted.name === detail.slot : booted.version === detail.version;

const describeSystem = (detail: RaucBootDetail): string =>
  'slot' in detail ? detail.slot : `version ${detail.version}`;

/** The boot in which systemd was asked to reboot for the step. */
const askedFile = ({ state }: HostTargetOptions): string => join(state, 'rauc-reboot');

const readAsked = async (options: HostTargetOptions): Promise<string | undefined> => {
  try {
    return await readFile(askedFile(options), 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading ${askedFile(options)}`);
  }
};

const forgetAsked = async (options: HostTargetOptions): Promise<void> => {
  await rm(askedFile(options), { force: true });
};

const failed = (message: string): FleetError =>
  new FleetError('RAUC_FAILED', message, { hint: '"journalctl -u rauc" on the host says more' });
