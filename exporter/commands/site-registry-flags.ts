import { Flags } from '@oclif/core';
import { parseChannel, parseName } from '#bundles/names';
import type { Progress } from '#cli/progress';
import { wordList } from '#cli/word-list';
import { repeatable } from '#cli/flags';
import type { Selection } from '#bundles/transport/publish/choose-pointers';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import type { Registry } from '#bundles/transport/registry/registry';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { describePause } from './show/describe-pause.ts';
import { setRegistryFlags } from '../source/v8-flags.ts';
import { EXPORT_FLAGS } from './export-flags.ts';

const { 'plain-http': plainHttp, 'ca-file': caFile, 'auth-file': authFile } = EXPORT_FLAGS;

/** Flags for access to the registry at the site. */
export const REGISTRY_FLAGS = { 'plain-http': plainHttp, 'ca-file': caFile, 'auth-file': authFile };

type RegistryFlags = {
  readonly 'plain-http'?: readonly string[] | string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly 'auth-file'?: string | undefined;
};

/** @throws FleetError USAGE, CONFIG_INVALID */
export const openSiteRegistry = (
  where: string,
  flags: RegistryFlags,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  progress?: Progress,
): Registry => {
  setRegistryFlags();
  return openRegistry(
    parseRegistryAddress(where),
    registryOptions({
      plainHttp: wordList(flags['plain-http'], ',') ?? [],
      caFile: flags['ca-file'],
      authFile: flags['auth-file'],
      env,
      signal,
      onWait: progress && ((pause) => progress.wait(describePause(where, pause), pause.ms)),
    }),
  );
};

/** Flags that select channels and sites of a medium. */
export const SELECTION_FLAGS = {
  channel: Flags.string({
    ...repeatable,
    description: 'Only this environment/cluster type',
  }),
  site: Flags.string({
    ...repeatable,
    description: 'Only the statement and receipts of this site',
  }),
};

/** Everything if neither is given. @throws FleetError NAME_INVALID */
export const selectionOf = (flags: {
  readonly channel?: readonly string[] | undefined;
  readonly site?: readonly string[] | undefined;
}): Selection => ({
  channels: flags.channel?.map(parseChannel),
  sites: flags.site?.map((site) => parseName(site, 'site')),
});
