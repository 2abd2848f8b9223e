import { setTimeout } from 'node:timers/promises';
import { Args } from '@oclif/core';
import { type FleetError, formatPlace, isFleetError, plainLine, toFleetError } from '#bundles/errors';
import { STATUS_FILE } from '#bundles/formats/medium/medium';
import { writeOntoMedium } from '../acquire/blobs/write-onto-medium.ts';
import { readMounts } from '../apply/host/live/mounts.ts';
import type { Config } from '../config/config.ts';
import { loadKey } from '../hub/agent-key.ts';
import { admit } from '../daemon/plug-in/admit.ts';
import { readDeviceFacts } from '../daemon/plug-in/device-facts.ts';
import {
  forgetProgress,
  createMountPoint,
  mountPoint,
  type Progress,
  readProgress,
  type Taken,
  writeProgress,
  writeVariables,
} from '../daemon/plug-in/progress.ts';
import { type VisitOutcome, visitOutcomeOf } from '../daemon/plug-in/visit-outcome.ts';
import { fullName } from '../store/identity.ts';
import { isTrialUnderWay } from '../store/upgrade-trial.ts';
import {
  completeTaken,
  holdsMedium,
  isUnreadable,
  refusedBy,
  reportOnto,
  takeMedium,
} from '../daemon/plug-in/take-medium.ts';
import { AgentCommand, type ConfigFlags } from './agent-command.ts';

/** A second medium waits for the import of the first one. */
const QUEUE_MS = 60 * 60_000;

/** Longer than a trial of a new version, with the work of its first look. */
const UPGRADE_SECONDS = 3600;

type Phase = 'admit' | 'take' | 'report' | 'end';

/** The phases of fleet-agent-medium@.service; between them systemd mounts and unmounts. */
export default class PlugIn extends AgentCommand {
  static override hidden = true;
  static override summary = 'Perform one phase for a medium that was plugged in.';
  static override description =
    'For fleet-agent-medium@.service, which udev starts. Each phase reads the result of the one before from /run/fleet-agent-medium.';
  static override examples = ['<%= config.bin %> plug-in take sdb1'];
  static override args = {
    phase: Args.string({
      required: true,
      options: ['admit', 'take', 'report', 'end'],
      description: 'Phase',
    }),
    device: Args.string({ required: true, description: 'Kernel name of the device' }),
  };

  async run(): Promise<VisitOutcome | undefined> {
    const { args, flags } = await this.parse(PlugIn);
    const { device } = args;
    switch (args.phase as Phase) {
      case 'admit':
        await this.#admit(device, flags);
        return undefined;
      case 'take':
        await this.#take(device, flags);
        return undefined;
      case 'report':
        await this.#report(device, flags);
        return undefined;
      case 'end':
        return await this.#end(device, flags);
    }
  }

  /** The configuration, or what is wrong with it: the technician sees no journal. */
  #valid(flags: ConfigFlags): Config | FleetError {
    try {
      return this.readConfig(flags);
    } catch (error) {
      if (isFleetError(error, 'CONFIG_INVALID')) return error;
      throw error;
    }
  }

  /** Exit code 1 skips the unit, as ExecCondition= says. */
  async #admit(device: string, flags: ConfigFlags): Promise<void> {
    await forgetProgress(device);
    const config = this.#valid(flags);
    if (isFleetError(config)) {
      const place = config.at ? `${formatPlace(config.at)}: ` : '';
      const why = { kind: 'configuration', message: `${place}${config.message}` } as const;
      await writeProgress(device, { phase: 'stopped', why });
      process.exitCode = 1;
      return;
    }
    if (!config.plugIn) {
      process.exitCode = 1;
      return;
    }
    const admission = admit(config, await readDeviceFacts(device));
    switch (admission.kind) {
      case 'off':
        process.exitCode = 1;
        return;
      case 'stopped':
        await writeProgress(device, { phase: 'stopped', why: admission.why });
        process.exitCode = 1;
        return;
      case 'mount':
        await createMountPoint(device);
        await writeProgress(device, { phase: 'mounting' });
        await writeVariables(device, { FLEET_MEDIUM_TYPE: admission.fileSystem, FLEET_MEDIUM_ACCESS: 'ro' });
    }
  }

  async #take(device: string, flags: ConfigFlags): Promise<void> {
    const path = mountPoint(device);
    await writeProgress(device, { phase: 'taking' });
    const taken = await this.#taken(device, path, flags);
    if (taken.kind === 'applied' && taken.upgrading) await this.#untilUpgraded(this.readConfig(flags).state);
    await writeProgress(device, { phase: 'taken', taken });
    // Only a medium that was verified is ever writable.
    if (taken.kind === 'applied')
      await writeVariables(device, { FLEET_MEDIUM_TYPE: 'none', FLEET_MEDIUM_ACCESS: 'rw' });
    process.exitCode = exitOf(taken);
  }

  async #taken(device: string, path: string, flags: ConfigFlags): Promise<Taken> {
    try {
      if (!(await holdsMedium(path))) return { kind: 'foreign' };
      return await this.changing(flags, (agent) => takeMedium(agent, path, () => isGone(device)), {
        waitMs: QUEUE_MS,
      });
    } catch (cause) {
      const error = toFleetError(cause);
      if (isFleetError(error, 'ABORTED')) throw error;
      return isUnreadable(cause) ? { kind: 'unreadable' } : refusedBy(error);
    }
  }

  /** Without lock and database, which are those of the new version now. */
  async #untilUpgraded(state: string): Promise<void> {
    for (let waited = 0; isTrialUnderWay(state) && waited < UPGRADE_SECONDS; waited += 1)
      await setTimeout(1000, undefined, { signal: this.signal });
  }

  async #report(device: string, flags: ConfigFlags): Promise<void> {
    const before = await readProgress(device);
    if (before?.phase !== 'taken' || before.taken.kind !== 'applied') return;
    const { taken: first } = before;
    const taken = first.upgrading
      ? await this.changing(flags, (agent) => completeTaken(agent, first), { waitMs: QUEUE_MS })
      : first;
    const path = mountPoint(device);
    await writeProgress(device, { phase: 'reporting', taken });
    const { reported, machine } = await this.reading(flags, async (agent, config) => ({
      reported: await reportOnto(agent, await loadKey(agent), path, {
        isGone: () => isGone(device),
        config,
        env: process.env,
      }),
      machine: fullName(agent.identity),
    }));
    const after: Progress = { phase: 'reported', taken, reported };
    await writeProgress(device, after);
    const { language } = this.readConfig(flags);
    const now = this.edge(this.readConfig(flags), flags).now();
    const { text } = visitOutcomeOf(language, after, undefined);
    // Of another machine, or of an earlier visit: a medium that is refused is not written to.
    const status = Buffer.from(`${now.toISOString()} ${machine}\r\n${plainLine(text)}\r\n`);
    // A medium that is full or write-protected has said so above.
    await writeOntoMedium(path, STATUS_FILE, status).catch(() => {});
    process.exitCode = exitOfApplied(taken, EXIT_OF[reported.kind]);
  }

  /** After the unmount: the line for the console and the journal, and the variables of the hook. */
  async #end(device: string, flags: ConfigFlags): Promise<VisitOutcome> {
    const config = this.#valid(flags);
    const language = isFleetError(config) ? 'en' : config.language;
    const places = await placesOf(device);
    const reached = await readProgress(device);
    const other = places.find((place) => place !== mountPoint(device));
    const progress: typeof reached =
      reached?.phase === 'mounting' && other !== undefined
        ? { phase: 'stopped', why: { kind: 'in-use', at: other } }
        : reached;
    const sign = visitOutcomeOf(language, progress, places.length > 0);
    await forgetProgress(device);
    await writeVariables(device, {
      FLEET_MEDIUM_OUTCOME: sign.outcome,
      FLEET_MEDIUM_MESSAGE: plainLine(sign.text),
    });
    if (sign.text !== '') this.log(`${device}: ${plainLine(sign.text)}`);
    return sign;
  }
}

const exitOf = (taken: Taken): number => {
  if (taken.kind === 'refused') return taken.exit;
  return taken.kind === 'unreadable' ? 5 : 0;
};

/** @param ofReport exit code of what was written onto the medium */
const exitOfApplied = (
  { failed, held }: Extract<Taken, { readonly kind: 'applied' }>,
  ofReport: number,
): number => {
  if (failed.length > 0) return 7;
  return held.length > 0 ? 8 : ofReport;
};

const EXIT_OF = { written: 0, full: 6, 'read-only': 6, unreadable: 5, failed: 6 } as const;

/** A card reader without its card remains as a device without a size. */
const isGone = (device: string): Promise<boolean> =>
  readDeviceFacts(device).then(
    ({ bytes }) => bytes === 0,
    (error: unknown) => isFleetError(error, 'MEDIUM_MISSING'),
  );

/** Mount points of the device. For a device that was unplugged, only the mount point of the agent. */
const placesOf = async (device: string): Promise<readonly string[]> => {
  const number = await readDeviceFacts(device).then(
    (facts) => facts.number,
    () => undefined,
  );
  const mounts = await readMounts();
  return mounts
    .filter((mount) => mount.point === mountPoint(device) || mount.device === number)
    .map(({ point }) => point);
};
