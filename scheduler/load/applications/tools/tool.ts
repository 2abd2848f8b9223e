export type ToolName = 'helm' | 'kustomize' | 'xz';

/** A program on this machine that renders or unpacks. */
export type Tool = {
  readonly name: ToolName;
  /** 'v3.22.0'. The rendered bytes depend on the version. */
  readonly version: string;
  /** The command that starts it, including the network isolation. */
  readonly command: readonly string[];
  /** 'none': it runs in its own network namespace. 'shared': this machine does not support that. */
  readonly network: 'none' | 'shared';
};

/** Finds each tool once. @throws FleetError TOOL_MISSING with what to install, and for which application */
export type Tools = (name: ToolName, application: string) => Promise<Tool>;
