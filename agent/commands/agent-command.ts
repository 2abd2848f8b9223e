import { join } from 'node:path';
import { FleetCommand } from '#bundles/program/fleet-command';
import { freeBytesOf } from '../acquire/free-space.ts';
import type { Agent } from '../agent.ts';
import { hostTarget } from '../apply/host/host-target.ts';
import { runCommand } from '../apply/host/run-command.ts';
import { type Config } from '../config/config.ts';
import { CONFIG_FLAGS } from '../config/config-flags.ts';
import { type Overrides, readConfig } from '../config/read-config.ts';
import { type Edge, readEdge } from '../edge.ts';
import { readIdentity } from '../store/identity.ts';
import { acquireLock } from '../store/lock.ts';
import { fromSqliteError, openState, type State } from '../store/state.ts';

/** The flags of CONFIG_FLAGS as a command gets them. */
type ConfigFlags = {
  readonly now?: string | undefined;
  readonly config?: string | undefined;
  readonly state?: string | undefined;
  readonly root?: string | undefined;
  readonly services?: string | undefined;
  readonly 'on-drift'?: string | undefined;
  readonly interval?: string | undefined;
  readonly 'max-validity-days'?: number | undefined;
  readonly 'prune-budget'?: number | undefined;
  readonly clock?: string | undefined;
};

/** A person who starts a command while the daemon looks around waits this long for it. */
const PATIENCE_MS = 15_000;

/** What the commands of the agent share: its configuration, its state, its lock. */
export abstract class AgentCommand extends FleetCommand {
  static override baseFlags = { ...FleetCommand.baseFlags, ...CONFIG_FLAGS };

  protected readConfig(flags: ConfigFlags): Config {
    // The schema judges the words; the types here are what it lets through.
    const overrides = {
      state: flags.state,
      root: flags.root,
      services: flags.services,
      onDrift: flags['on-drift'],
      interval: flags.interval,
      maxValidityDays: flags['max-validity-days'],
      pruneBudget: flags['prune-budget'],
      clock: flags.clock,
    } as Overrides;
    return readConfig(flags.config, overrides);
  }

  protected edge(config: Config, flags: ConfigFlags): Edge {
    const fixed = flags.now === undefined ? undefined : this.readNow(flags.now);
    return readEdge(fixed, config.clock, process.env);
  }

  /** Work that only reads: no lock. @throws FleetError NOT_ENROLLED */
  protected async reading<T>(
    flags: ConfigFlags,
    work: (agent: Agent, config: Config) => T | Promise<T>,
  ): Promise<T> {
    const config = this.readConfig(flags);
    using state = openState(config.state);
    return await work(this.agentOf(config, state, this.edge(config, flags)), config);
  }

  /** Work that changes something: alone. @throws FleetError NOT_ENROLLED, BUSY */
  protected async changing<T>(flags: ConfigFlags, work: (agent: Agent) => Promise<T>): Promise<T> {
    const config = this.readConfig(flags);
    const edge = this.edge(config, flags);
    using state = openState(config.state);
    const agent = this.agentOf(config, state, edge);
    using _lock = await acquireLock(config.state, this.id ?? 'command', edge.now(), {
      waitMs: PATIENCE_MS,
      signal: this.signal,
    });
    return await work(agent);
  }

  protected agentOf(config: Config, state: State, edge: Edge): Agent {
    const { onDrift, maxValidityDays, pruneBudget } = config;
    return {
      state,
      identity: readIdentity(state),
      targets: [
        hostTarget({
          root: config.root,
          services: config.services,
          backups: join(config.state, 'replaced'),
          isRoot: process.getuid?.() === 0,
          run: runCommand,
        }),
      ],
      edge,
      policy: { onDrift, maxValidityDays, pruneBudget },
      freeBytes: freeBytesOf,
      onJournal: () => {},
      signal: this.signal,
    };
  }

  protected override async catch(error: Error & { oclif?: unknown }): Promise<unknown> {
    const isSqlite = error.name === 'SqliteError';
    return super.catch(isSqlite ? fromSqliteError(error, 'using the state directory') : error);
  }
}
