import type { Ran } from '../story.ts';

/** Address of a server of the office, and its address from the plant: the same, or the near end of a line to it. */
export type Line = { readonly listen: string; readonly known: string };

/** The example's site: a cluster with an agent beside it, a line to the office, and a place to put a stick. */
export type Plant = AsyncDisposable & {
  /** Real containers on a node, or an API server with nodes that only simulate pods. */
  readonly pods: 'real' | 'fake';
  /** Prompt of a shell at the plant. */
  readonly prompt: string;
  /** Mount point of the stick at the plant. */
  readonly stick: string;
  /** Keys of agent.yaml that depend on the kind of plant. */
  readonly settings: readonly string[];
  /** Makes a line for one server of the office. */
  readonly line: () => Promise<Line>;
  /** Runs one of `fleet-agent`, `kubectl` and the plant's own programs. */
  readonly run: (argv: readonly string[]) => Promise<Ran>;
  /** Writes a file at the plant, such as agent.yaml. Returns its path there. */
  readonly write: (name: string, text: string) => Promise<string>;
  /** The command line that starts `fleet-agent run` as a service. */
  readonly startCommand: string;
  readonly startAgent: () => Promise<Ran>;
  /** The log of the service. */
  readonly log: () => Promise<string>;
  /** Cuts the power and restores it; returns when the cluster answers again. Absent for simulated nodes. */
  readonly powerCut: (() => Promise<void>) | undefined;
  readonly cutOff: () => Promise<void>;
  readonly reconnect: () => Promise<void>;
};
