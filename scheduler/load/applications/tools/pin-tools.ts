import { FleetError } from '#bundles/errors';
import type { ToolName, Tools } from './tool.ts';

/** The version of a program that rendered before, and where that is written. */
export type PinnedTool = {
  /** 'v3.22.0' or 'v3': only the major version counts. */
  readonly version: string;
  /** 'images.lock.yaml', for the message. */
  readonly by: string;
  /** How to render with another version. */
  readonly hint: string;
};

/** Asked when a program is needed. undefined: any version may render. */
export type PinnedTools = (name: ToolName) => PinnedTool | undefined | Promise<PinnedTool | undefined>;

/**
 * Refuses programs of another major version than the pinned one: it may write other objects from the same files. A version that has no
 * number, as of a program built by hand, is taken. The returned function rejects with FleetError TOOL_MISSING, RENDERER_DIFFERS.
 */
export const pinTools =
  (tools: Tools, pinned: PinnedTools): Tools =>
  async (name, application) => {
    const tool = await tools(name, application);
    const pin = await pinned(name);
    const [wanted, found] = [pin && majorVersion(pin.version), majorVersion(tool.version)];
    if (!pin || wanted === undefined || found === undefined || wanted === found) return tool;
    throw new FleetError(
      'RENDERER_DIFFERS',
      `${application} is rendered by ${name} ${pin.version} (${pin.by}), and this machine has ${name} ${tool.version}`,
      { subject: application, hint: `Put ${name} ${wanted} first on the PATH; ${pin.hint}` },
    );
  };

/** 'v3' of 'v3.22.0' */
export const majorVersion = (version: string): string | undefined => {
  const number = /^v?(\d+)(?:\.|$)/.exec(version)?.[1];
  return number === undefined ? undefined : `v${number}`;
};
