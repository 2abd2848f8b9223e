export type ToolName = 'helm' | 'kustomize' | 'xz';

/** A program that renders or unpacks, as it is on this machine. */
export type Tool = {
  readonly name: ToolName;
  /** Its version decides about bytes: 'v3.22.0'. */
  readonly version: string;
  /** How it is started, with what isolates it from the network. */
  readonly command: readonly string[];
  /** 'none': it runs in a network namespace of its own. 'shared': this machine cannot make one. */
  readonly network: 'none' | 'shared';
};

/** Finds each tool once. @throws FleetError TOOL_MISSING, naming what to install and for which application */
export type Tools = (name: ToolName, application: string) => Promise<Tool>;
