import { Args, Flags } from '@oclif/core';
import { parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { type Pruned, type PrunedRepository, pruneRegistry } from '../push/prune/prune-registry.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';
import { openSiteRegistry, REGISTRY_FLAGS } from './site-registry-flags.ts';
import { stoppable } from './stoppable.ts';

type Result = Pruned & { readonly registry: string; readonly removed: boolean };

export default class Prune extends FleetCommand {
  static override summary =
    'Remove old releases from a registry inside the gap, and images that only those used';
  static override description =
    `Says what would go; with --yes it is removed. Of each channel the --keep newest releases stay, the current one among them. Pointers are never removed, nor is anything that push did not tag.

Afterwards the registry's own garbage collection frees the space. Do not run it while somebody pushes. A host that keeps its images in this registry only can go back to no release that is removed.`;
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
      description: 'Releases of each channel that stay, the current one counted in',
    }),
    channel: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'Only this environment/cluster type',
    }),
    yes: Flags.boolean({
      char: 'y',
      description: 'Remove; without it nothing is removed',
      exclusive: ['dry-run'],
    }),
    'dry-run': Flags.boolean({ description: 'Say what would go, which is so without --yes too' }),
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.parse(Prune);
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    const channels = flags.channel?.map(parseChannel);
    return stoppable(this.signal, 'Run it again: it goes on where it stopped', async () => {
      await using registry = openSiteRegistry(args.registry, flags, process.env);
      const { keep, yes } = flags;
      const pruned = await pruneRegistry(registry, {
        keep,
        channels,
        pinned,
        remove: yes,
        signal: this.signal,
      });
      for (const note of pruned.notes) this.say(`Note: ${note}.`);
      for (const repository of pruned.repositories)
        if (repository.tags.length > 0 || repository.outcome === 'moved') this.log(describe(repository));
      const tags = pruned.repositories.reduce((sum, repository) => sum + repository.tags.length, 0);
      this.log(
        yes
          ? `${args.registry}: ${tags} tags removed; the registry's own garbage collection frees the space`
          : `${args.registry}: ${tags} tags could go; nothing was removed, --yes does that`,
      );
      return { registry: args.registry, removed: yes, ...pruned };
    });
  }
}

const NAMES: Readonly<Record<string, string>> = { r: 'release', s: 'statement', b: 'bundle', i: 'image' };

/** 'prod/kiosk                   would go: 3 releases, 2 bundles, 4 images' */
const describe = ({ repository, outcome, tags }: PrunedRepository): string => {
  const head = repository.padEnd(28);
  if (outcome === 'moved') return `${head} somebody pushed meanwhile: nothing was removed, run it again`;
  const counts = Object.entries(NAMES).flatMap(([letter, name]) => {
    const count = tags.filter((tag) => tag.startsWith(`${letter}-`)).length;
    return count > 0 ? [`${count} ${name}${count === 1 ? '' : 's'}`] : [];
  });
  return `${head} ${outcome === 'removed' ? 'removed' : 'would go'}: ${counts.join(', ')}`;
};
