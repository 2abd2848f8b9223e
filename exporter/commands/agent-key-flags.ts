import { Flags } from '@oclif/core';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { wordList } from '#cli/word-list';
import { siteAgents } from '../source/base/site-agents.ts';
import { mediumAgents } from '../reports/medium-agents.ts';
import type { AgentsOf } from '../source/base/site-agents.ts';
import { openSource } from '../source/open-source.ts';
import { EXPORT_FLAGS } from './export-flags.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';

/** Flags that say by which keys reports and receipts are verified. */
export const AGENT_KEY_FLAGS = {
  ...ROOT_FLAG,
  from: Flags.string({
    description: "Verify with the agents' keys in the site statements of this layout or oci://host/prefix",
    exclusive: ['root-sha256'],
  }),
  'plain-http': EXPORT_FLAGS['plain-http'],
  'ca-file': EXPORT_FLAGS['ca-file'],
  'auth-file': EXPORT_FLAGS['auth-file'],
};

export type AgentKeyFlags = {
  readonly 'root-sha256'?: string | undefined;
  readonly from?: string | undefined;
  readonly 'plain-http'?: readonly string[] | string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly 'auth-file'?: string | undefined;
};

/** Undefined without --root-sha256 and --from: nothing is verified. @param opened closes the source */
export const openAgents = async (
  medium: OpenMedium,
  flags: AgentKeyFlags,
  now: Date,
  opened: AsyncDisposableStack,
): Promise<AgentsOf | undefined> => {
  const root = flags['root-sha256'];
  if (root !== undefined) return mediumAgents(medium, parseRootDigest(root), now);
  if (flags.from === undefined) return undefined;
  const access = {
    plainHttp: wordList(flags['plain-http'], ',') ?? [],
    caFile: flags['ca-file'],
    authFile: flags['auth-file'],
    env: process.env,
  };
  return siteAgents(opened.use(await openSource(flags.from, access)), now);
};
