import { type Command, Config, Plugin } from '@oclif/core';
import { VERSION } from '#bundles/version';
import type { Commands } from './commands.ts';

export type Program = {
  /** 'fleet-agent' */
  readonly name: string;
  readonly description: string;
  readonly commands: Commands;
  /** Topics with more than one verb, for the help. */
  readonly topics?: Readonly<Record<string, { readonly description: string }>>;
  /** For completion: what the argument or flag of this name may be here. Never rejects. @param line the words before it */
  readonly names?: (name: string, line: readonly string[]) => Promise<readonly string[]>;
};

/** Description of a program for oclif. */
export const loadConfig = async (
  { name, description, topics = {} }: Program,
  commands: Readonly<Record<string, Command.Class>>,
): Promise<Config> => {
  const root = import.meta.dirname;
  const pjson = {
    name,
    version: VERSION,
    description,
    oclif: {
      bin: name,
      topicSeparator: ' ',
      commands: { strategy: 'explicit', target: '.', identifier: 'COMMANDS' },
      topics,
      additionalVersionFlags: ['-v'],
    },
  } as never;
  const plugin = new Plugin({ root, pjson, isRoot: true, ignoreManifest: true });
  Object.assign(plugin, { commandCache: commands });
  await plugin.load();
  return Config.load({ root, pjson, plugins: [plugin] as never });
};
