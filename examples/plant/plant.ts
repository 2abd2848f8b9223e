import type { Ran } from '../story.ts';

/** Where a server of the office listens, and what the plant calls it: the same, or the near end of a line to it. */
export type Line = { readonly listen: string; readonly known: string };

/** The example's site: a cluster with an agent beside it, a line to the office, and a place to put a stick. */
export type Plant = AsyncDisposable & {
  /** Real containers on a node, or the API of a cluster whose nodes only say that they run pods. */
  readonly pods: 'real' | 'fake';
  /** What a shell at the plant shows before the commands that are typed there. */
  readonly prompt: string;
  /** Where the stick is at the plant, once it is plugged in. */
  readonly stick: string;
  /** Keys of agent.yaml that depend on what the plant is. */
  readonly settings: readonly string[];
  /** Makes a line for one server of the office. */
  readonly line: () => Promise<Line>;
  /** Runs one of `fleet-agent`, `kubectl` and the plant's own programs. */
  readonly run: (argv: readonly string[]) => Promise<Ran>;
  /** agent.yaml, and whatever else somebody at the plant writes there. Gives the path at the plant. */
  readonly write: (name: string, text: string) => Promise<string>;
  /** The command line that starts `fleet-agent run` for good, as it is typed there. */
  readonly startCommand: string;
  readonly startAgent: () => Promise<Ran>;
  /** What the service wrote to its log. */
  readonly log: () => Promise<string>;
  /** The power fails and comes back; returns when the cluster answers again. Not where nothing real runs. */
  readonly powerCut: (() => Promise<void>) | undefined;
  readonly cutOff: () => Promise<void>;
  readonly reconnect: () => Promise<void>;
};
