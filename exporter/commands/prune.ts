import { Args, Flags } from '@oclif/core';
import { formatCount } from '#bundles/format-count';
import { parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { type Pruned, type PrunedRepository, pruneRegistry } from '../push/prune/prune-registry.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';
import { openSiteRegistry, REGISTRY_FLAGS } from './site-registry-flags.ts';
import { stoppable } from './stoppable.ts';

type Result = Pruned & { readonly registry: string; readonly removed: boolean };

export default class Prune extends FleetCommand {
  static override summary = 'Remove old releases and their images from a registry at the site';
  static override description =
    `Lists what would be removed, and removes it with --yes. The --keep newest releases of each channel stay, including the current one, with the images they use. Pointers and tags that push did not make are never removed.

The registry's own garbage collection frees the space afterwards. Do not run prune during a push. A host whose images are only in this registry cannot go back to a removed release.`;
  static override examples = [
    '<%= config.bin %> prune oci://edge.example:5000/fleet --keep 3',
    '<%= config.bin %> prune oci://edge.example:5000/fleet --keep 3 --yes',
  ];
  static override args = {
    registry: Args.string({ required: true, description: 'oci://host[:port]/prefix' }),
  };
  static override flags = {
    ...REGISTRY_FLAGS,
    ...ROOT_FLAG,
    keep: Flags.integer({
      required: true,
      min: 1,
      max: 10_000,
      description: 'Releases of each channel to keep, including the current one',
    }),
    channel: Flags.string({
      ...repeatable,
      description: 'Only this environment/cluster type',
    }),
    yes: Flags.boolean({
      char: 'y',
      description: 'Remove the tags; by default they are only listed',
      exclusive: ['dry-run'],
    }),
    'dry-run': Flags.boolean({ description: 'List what would be removed (the default without --yes)' }),
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.parse(Prune);
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    const channels = flags.channel?.map(parseChannel);
    return stoppable(this.signal, 'Run it again: it continues where it stopped', async () => {
      await using registry = openSiteRegistry(args.registry, flags, process.env, this.signal);
      const { keep, yes } = flags;
      const pruned = await pruneRegistry(registry, {
        keep,
        channels,
        pinned,
        remove: yes,
        signal: this.signal,
      });
      for (const note of pruned.notes) this.say(`Note: ${note}.`);
      this.print({
        rows: pruned.repositories
          .filter(({ tags: gone, outcome }) => gone.length > 0 || outcome === 'moved')
          .map(describeRepository),
      });
      const tags = pruned.repositories.reduce((sum, repository) => sum + repository.tags.length, 0);
      this.print(
        yes
          ? `${args.registry}: ${tags} tags removed; the registry's own garbage collection frees the space`
          : `${args.registry}: ${tags} tags could be removed; give --yes to remove them`,
      );
      return { registry: args.registry, removed: yes, ...pruned };
    });
  }
}

const NAMES: Readonly<Record<string, string>> = { r: 'release', s: 'statement', b: 'bundle', i: 'image' };

/** 'prod/kiosk                   would remove: 3 releases, 2 bundles, 4 images' */
const describeRepository = ({ repository, outcome, tags }: PrunedRepository): readonly string[] => {
  if (outcome === 'moved') return [repository, 'changed by another push: nothing was removed, run it again'];
  const counts = Object.entries(NAMES).flatMap(([letter, name]) => {
    const count = tags.filter((tag) => tag.startsWith(`${letter}-`)).length;
    return count > 0 ? [formatCount(count, name)] : [];
  });
  return [repository, `${outcome === 'removed' ? 'removed' : 'would remove'}: ${counts.join(', ')}`];
};
