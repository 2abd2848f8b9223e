import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { openLayout } from '#bundles/formats/layout/layout';
import { isName, parseChannel } from '#bundles/names';
import { channelsIn, sitesIn } from '#bundles/transport/publish/choose-pointers';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { bundlesOf, readRelease } from '../load/releases/read-release.ts';
import { type Configuration, readConfiguration } from '../settings/configuration.ts';

/**
 * Names in the configured layout that an argument or flag takes; none where nothing is configured, released or readable.
 * @param name of the argument or flag @param line the words before, of which --config, --layout and --keys count
 */
export const completeNames = async (name: string, line: readonly string[]): Promise<readonly string[]> => {
  try {
    const given = Object.fromEntries(
      ['config', 'layout', 'keys'].flatMap((flag) => {
        const text = valueOf(flag, line);
        return text === undefined ? [] : [[flag, text]];
      }),
    );
    return await namesOf(name, await readConfiguration(given, process.cwd()));
  } catch {
    // Pressing Tab reports nothing; the command itself will.
    return [];
  }
};

const valueOf = (flag: string, line: readonly string[]): string | undefined => {
  const at = line.indexOf(`--${flag}`);
  const inOne = line.find((word) => word.startsWith(`--${flag}=`));
  return (
    inOne?.slice(flag.length + 3) ?? (at === -1 ? undefined : line[line[at + 1] === '=' ? at + 2 : at + 1])
  );
};

const namesOf = async (
  name: string,
  { layout, keys, platform }: Configuration,
): Promise<readonly string[]> => {
  if (layout === undefined) return [];
  const opened = await openLayout(layout);
  const channels = channelsIn(opened);
  /** Those with a release, and those with a folder of their own in a platform that is a folder. */
  const environments = async (): Promise<readonly string[]> => {
    const released = channels.map((channel) => parseChannel(channel).environment);
    const folders = await readdir(join(platform ?? '', 'environments')).catch(() => []);
    return [...new Set([...released, ...folders.filter(isName)])];
  };
  const packages = async (): Promise<readonly string[]> => {
    if (keys === undefined) return [];
    const { roots } = await openKeyDirectory(keys);
    const found = new Set<string>();
    for (const channel of channels) {
      const release = await readRelease(opened, parseChannel(channel), roots);
      for (const digest of release ? bundlesOf(release) : []) {
        const { config } = await readBundle(opened.blobs, digest);
        for (const { id, workload } of config.assignments) found.add(id).add(workload ?? id);
      }
    }
    return [...found].sort();
  };
  switch (name) {
    case 'environment':
    case 'left':
    case 'right':
      return await environments();
    case 'channel':
      return channels;
    case 'site':
      return sitesIn(opened);
    case 'workload':
    case 'assignment':
      return await packages();
    // Of history and events.
    case 'name':
      return [...(await environments()), ...sitesIn(opened), ...(await packages())];
    default:
      return [];
  }
};
