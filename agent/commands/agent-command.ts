import { isFleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { wordList } from '#cli/word-list';
import { freeBytesOf } from '../acquire/blobs/free-space.ts';
import type { Agent } from '../store/agent.ts';
import { createTargets } from '../apply/create-targets.ts';
import { type Config } from '../config/config.ts';
import { CONFIG_FLAGS } from '../config/config-flags.ts';
import { imagePolicies } from '../config/image-policies.ts';
import { policyOf } from '../config/policy-of.ts';
import { type Overrides, readConfig } from '../config/read-config.ts';
import { type Edge, readEdge } from '../model/edge.ts';
import { addRecipientToRequest } from '../enroll/ask-with-recipient.ts';
import { createProviders } from '../images/create-providers.ts';
import { makeAllDue } from '../store/applied/attempts.ts';
import { readIdentity } from '../store/identity.ts';
import { acquireLock } from '../store/lock.ts';
import { wakeDaemon } from '../store/wake-daemon.ts';
import { copyState, fromSqliteError, openState, scratchState, type State } from '../store/state.ts';
import { openDuringTrial } from '../store/upgrade-trial.ts';

/** The parsed flags of CONFIG_FLAGS. */
export type ConfigFlags = {
  readonly now?: string | undefined;
  readonly config?: string | undefined;
  readonly state?: string | undefined;
  readonly root?: string | undefined;
  readonly services?: string | undefined;
  readonly 'on-drift'?: string | undefined;
  readonly 'on-stale'?: string | undefined;
  readonly interval?: string | undefined;
  readonly 'max-validity-days'?: number | undefined;
  readonly 'prune-budget'?: number | undefined;
  readonly 'replaced-mib'?: number | undefined;
  readonly 'outbox-mib'?: number | undefined;
  readonly 'metrics-file'?: string | undefined;
  readonly 'metrics-address'?: string | undefined;
  readonly clock?: string | undefined;
  readonly targets?: readonly string[] | undefined;
  readonly kubeconfig?: string | undefined;
  readonly 'kube-context'?: string | undefined;
  readonly namespace?: string | undefined;
  readonly 'health-timeout'?: string | undefined;
  readonly containerd?: string | undefined;
  readonly 'image-folder'?: string | undefined;
  readonly 'image-registry'?: string | undefined;
  readonly registry?: string | undefined;
  readonly hub?: string | undefined;
  readonly poll?: string | undefined;
  readonly 'sign-looks'?: string | undefined;
  readonly 'plain-http'?: readonly string[] | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly 'auth-file'?: string | undefined;
  readonly windows?: readonly string[] | undefined;
};

/** Longest wait of a command for the daemon to release the lock. */
const LOCK_WAIT_MS = 15_000;

const openOwn = (config: Config): State => openDuringTrial(config.state, () => openState(config.state));

/** Opens a state, also on a disk that is full; nothing may be stored in it. */
export const openToRead = (config: Config): State => {
  try {
    return openOwn(config);
  } catch (error) {
    const copy = isFleetError(error, 'DISK_FULL') ? copyState(config.state) : undefined;
    if (copy) return copy;
    throw error;
  }
};

/** A copy of the state in memory, for work whose changes are to be lost. */
export const openScratch = (config: Config): State => {
  using state = openToRead(config);
  return scratchState(state);
};

/** Base of the agent's commands: configuration, state and lock. */
export abstract class AgentCommand extends FleetCommand {
  static override baseFlags = { ...FleetCommand.baseFlags, ...CONFIG_FLAGS };

  protected readConfig(flags: ConfigFlags): Config {
    // The cast is safe because readConfig validates the values by the schema.
    const overrides = {
      state: flags.state,
      root: flags.root,
      services: flags.services,
      onDrift: flags['on-drift'],
      onStale: flags['on-stale'],
      interval: flags.interval,
      maxValidityDays: flags['max-validity-days'],
      pruneBudget: flags['prune-budget'],
      replacedMib: flags['replaced-mib'],
      outboxMib: flags['outbox-mib'],
      clock: flags.clock,
      metricsFile: flags['metrics-file'],
      metricsAddress: flags['metrics-address'],
      targets: wordList(flags.targets, ','),
      kubeconfig: flags.kubeconfig,
      kubeContext: flags['kube-context'],
      namespace: flags.namespace,
      healthTimeout: flags['health-timeout'],
      containerd: flags.containerd,
      imageFolder: flags['image-folder'],
      imageRegistry: flags['image-registry'],
      registry: flags.registry,
      hub: flags.hub,
      poll: flags.poll,
      signLooks: flags['sign-looks'],
      plainHttp: wordList(flags['plain-http'], ','),
      caFile: flags['ca-file'],
      authFile: flags['auth-file'],
      // Separated by semicolons, because cron expressions contain commas.
      windows: wordList(flags.windows, ';'),
    } as Overrides;
    return readConfig(flags.config, overrides);
  }

  protected edge(config: Config, flags: ConfigFlags): Edge {
    const fixed = flags.now === undefined ? undefined : this.readNow(flags.now);
    return readEdge(fixed, config.clock, process.env);
  }

  /**
   * Runs work that only reads, without the lock. @throws FleetError NOT_ENROLLED
   * @param open `openToRead` also opens a state whose disk is full, for work that stores nothing
   */
  protected async reading<T>(
    flags: ConfigFlags,
    work: (agent: Agent, config: Config) => T | Promise<T>,
    open: (config: Config) => State = openOwn,
  ): Promise<T> {
    const config = this.readConfig(flags);
    using state = open(config);
    return await work(await this.agentOf(config, state, this.edge(config, flags)), config);
  }

  /** Runs work that changes something, under the lock. @throws FleetError NOT_ENROLLED, BUSY */
  protected async changing<T>(
    flags: ConfigFlags,
    work: (agent: Agent) => Promise<T>,
    { waitMs = LOCK_WAIT_MS }: { readonly waitMs?: number } = {},
  ): Promise<T> {
    const config = this.readConfig(flags);
    const edge = this.edge(config, flags);
    using state = openOwn(config);
    const agent = await this.agentOf(config, state, edge);
    using _lock = await this.lock(config, edge, waitMs);
    try {
      await addRecipientToRequest(state, agent.identity, edge.now());
      // The operator may have fixed the cause of failures, so retry pauses do not delay the command.
      makeAllDue(state, edge.now());
      return await work(agent);
    } finally {
      wakeDaemon(config.state, 'changed', edge.now());
    }
  }

  /** @throws FleetError BUSY */
  protected lock(config: Config, edge: Edge, waitMs = LOCK_WAIT_MS): Promise<Disposable> {
    return acquireLock(config.state, this.id ?? 'command', edge.now(), {
      waitMs,
      signal: this.signal,
      bootId: edge.bootId,
      // Asks the daemon to end its health wait and release the lock.
      onWait: () => wakeDaemon(config.state, 'asked', edge.now()),
    });
  }

  protected async agentOf(config: Config, state: State, edge: Edge): Promise<Agent> {
    const identity = readIdentity(state);
    return {
      state,
      identity,
      targets: await createTargets(config, identity, state),
      images: await createProviders(config, process.env),
      edge,
      policy: policyOf(config),
      imagePolicy: imagePolicies(config),
      freeBytes: freeBytesOf,
      onJournal: () => {},
      signal: this.signal,
    };
  }

  protected override async catch(error: Error & { oclif?: unknown }): Promise<unknown> {
    const { name } = isFleetError(error) && error.cause instanceof Error ? error.cause : error;
    return super.catch(name === 'SqliteError' ? fromSqliteError(error, 'using the state directory') : error);
  }
}
