import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import type { Config } from '../config/config.ts';
import { keepWatched, readWatchdog } from '../daemon/keep-watched.ts';
import { LOOK_MS, createProgress, type Progress, SLACK_MS, STEP_MS } from '../daemon/progress.ts';
import { sleep } from '../daemon/wake-signal.ts';
import type { Log } from '../model/log.ts';
import { parseWindows } from '#bundles/windows';
import type { Edge } from '../model/edge.ts';
import { addRecipientToRequest } from '../enroll/ask-with-recipient.ts';
import { lookAround } from '../daemon/look-around.ts';
import { findIdentity, readIdentity } from '../store/identity.ts';
import { openOperation } from '../store/journal/operations.ts';
import { holdServiceLock } from '../store/service-lock.ts';
import { openState, type State } from '../store/state.ts';
import { readTrustRow } from '../store/trust.ts';
import { openDuringTrial } from '../store/upgrade-trial.ts';
import { AgentCommand, type ConfigFlags } from './agent-command.ts';
import { exitCodeOfOnce, type LookOnce, showOnce } from './show-once.ts';

/** Interval at which a daemon that started before enrolment checks for it. */
const ENROLMENT_MS = 10_000;

export default class Run extends AgentCommand {
  static override summary = 'Run the daemon: apply new releases, correct drift and report events.';
  static override description =
    'Resumes an interrupted operation, applies pending packages, and corrects or reports drift at every interval ' +
    'until it is stopped. With a registry it polls for new releases, with a hub it sends reports; without ' +
    'either, media carry both. Logs one JSON object a line. On SIGTERM it ends after the current step.';
  static override examples = [
    '<%= config.bin %> run',
    '<%= config.bin %> run --registry oci://registry.example/fleet --hub https://hub.example:8443',
    "<%= config.bin %> run --windows '0 22 * * 1-5 for 6h'",
    '<%= config.bin %> run --once',
    '<%= config.bin %> run --interval 30s --on-drift report',
  ];
  static override flags = {
    once: Flags.boolean({
      description: 'Ask the registry, look once and exit, with code 7 or 8 when something is wrong',
    }),
  };

  async run(): Promise<LookOnce | undefined> {
    const { flags } = await this.parse(Run);
    if (flags.once) return await this.once(flags);
    const config = this.readConfig(flags);
    parseWindows(config.windows);
    const { openLog } = await import('#cli/open-log');
    const log = openLog();
    await this.keep(config, this.edge(config, flags), log);
    return undefined;
  }

  private async keep(config: Config, edge: Edge, log: Log): Promise<void> {
    const { interval, poll, registry, hub, windows } = config;
    log.info({ interval, poll, registry, hub, windows }, 'started');
    const progress = createProgress();
    const ended = new AbortController();
    const signal = AbortSignal.any([this.signal, ended.signal]);
    const watching = keepWatched(readWatchdog(process.env), { progress, sleep, log, signal });
    try {
      await this.follow(config, edge, log, progress);
    } finally {
      // Also after an error: a service manager does not start a program again that still reports progress.
      ended.abort();
      await watching;
    }
  }

  private async follow(config: Config, edge: Edge, log: Log, progress: Progress): Promise<void> {
    using state = await this.enrolled(config, log, progress);
    if (!state) {
      log.info({}, 'stopped');
      return;
    }
    progress.within(LOOK_MS);
    await addRecipientToRequest(state, readIdentity(state), edge.now());
    using _service = await holdServiceLock(state.directory);
    const { createDaemon } = await import('../daemon/create-daemon.ts');
    const { runDaemon } = await import('../daemon/run-daemon.ts');
    const { createPublisher } = await import('../publish/create-publisher.ts');
    const own = await this.agentOf(config, state, edge);
    await using publisher = await createPublisher(own, config, this.config.version);
    const agent = {
      ...own,
      onJournal: () => {
        progress.within(openOperation(state) ? STEP_MS : LOOK_MS);
        publisher.collect();
      },
    };
    await using daemon = createDaemon(agent, config, log, process.env);
    await runDaemon({ ...daemon, progress, publisher });
    if (this.signal.aborted) return;
    throw new FleetError(
      'ABORTED',
      `the state in ${config.state} was removed or replaced while the daemon ran on it`,
      { hint: 'Start it again, as its service manager does; it goes on with what is there now' },
    );
  }

  /** Waits for the enrolment, which may come hours after the start. Returns undefined if stopped before. */
  private async enrolled(config: Config, log: Log, progress: Progress): Promise<State | undefined> {
    let logged = false;
    while (!this.signal.aborted) {
      progress.within(ENROLMENT_MS + SLACK_MS);
      const state = openIfEnrolled(config.state);
      if (state) return state;
      if (!logged)
        log.warn({ state: config.state }, 'waiting for the enrolment: "fleet-agent enroll", see --help');
      logged = true;
      await sleep(ENROLMENT_MS, this.signal);
    }
    return undefined;
  }

  private async once(flags: ConfigFlags): Promise<LookOnce> {
    const { askRegistry } = await import('../daemon/ask-registry.ts');
    // Before the lock: a slow network does not keep other commands waiting.
    const registry = await this.reading(flags, (agent, config) =>
      askRegistry(agent, config, process.env, async (work) => {
        using _lock = await this.lock(config, agent.edge);
        return await work();
      }),
    );
    const look = await this.changing(flags, async (agent) => ({
      ...(await lookAround(agent)),
      hasRelease: readTrustRow(agent.state).desiredRelease !== undefined,
      ...defined({ registry }),
    }));
    this.print(showOnce(look));
    process.exitCode = exitCodeOfOnce(look);
    return look;
  }
}

const openIfEnrolled = (directory: string): State | undefined => {
  try {
    const state = openDuringTrial(directory, () => openState(directory));
    if (findIdentity(state)) return state;
    state[Symbol.dispose]();
  } catch (error) {
    if (!isFleetError(error, 'NOT_ENROLLED')) throw error;
  }
  return undefined;
};
