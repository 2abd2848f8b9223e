import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { formatChannel, parseChannel, parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { wordList } from '#cli/word-list';
import { repeatable } from '#cli/flags';
import { compareSides, type SidesDiff } from '../verify/diff/compare-sides.ts';
import { formatDiff } from '../verify/diff/format-diff.ts';
import { openPlace, type SideOptions, sideOfSource } from '../verify/diff/open-side.ts';
import type { Side } from '../verify/diff/side.ts';
import { siteSide } from '../verify/diff/site-side.ts';
import { openSource } from '../source/open-source.ts';
import { IDENTITY_FLAG, openOptions } from './open-given.ts';
import { EXPORT_FLAGS } from './export-flags.ts';
import { stoppable } from './stoppable.ts';

/** Done, and something differs (docs/errors.md). */
const DIFFERS = 8;

type Flagged = {
  readonly site?: string | undefined;
  readonly from?: string | undefined;
  readonly report?: string | undefined;
};

export default class Diff extends FleetCommand {
  static override summary =
    'Show what differs between two media, or between the state of a site and a medium';
  static override description =
    'Compares releases, packages, images and every object as text, and counts the bytes to transfer. Values of Secrets are ' +
    'never shown. Releases of a registry or layout and reports are verified, a medium is not. Exit code 8 if something differs.';
  static override examples = [
    '<%= config.bin %> diff plant-7-october.tar /media/stick',
    '<%= config.bin %> diff /media/stick oci://registry.example/fleet',
    '<%= config.bin %> diff october-1,october-2 /media/a,/media/b',
    '<%= config.bin %> diff /media/stick --site plant-7 --from build --report /media/returned',
  ];
  static override args = {
    before: Args.string({
      required: true,
      description:
        'A medium (the sticks of a set separated by commas), a layout or oci://host/prefix; with --site, the newer state',
    }),
    after: Args.string({ description: 'The newer state, given in the same way' }),
  };
  static override flags = {
    site: Flags.string({
      description: 'Compare with the state of this site according to its newest reports',
      dependsOn: ['from'],
    }),
    report: Flags.string({
      description:
        'A report of the site, or a medium that came back [default: the newest reports that the office imported]',
      dependsOn: ['site'],
    }),
    from: Flags.string({
      description: "Layout or oci://host/prefix that has the site's bundles",
      env: 'FLEET_EXPORT_FROM',
    }),
    channel: Flags.string({
      ...repeatable,
      description: 'Only this environment/cluster type',
    }),
    ...IDENTITY_FLAG,
    'plain-http': EXPORT_FLAGS['plain-http'],
    'ca-file': EXPORT_FLAGS['ca-file'],
    'auth-file': EXPORT_FLAGS['auth-file'],
  };

  async run(): Promise<SidesDiff> {
    const { args, flags } = await this.parse(Diff);
    const now = this.readNow(flags.now);
    const only = flags.channel?.map((text) => formatChannel(parseChannel(text)));
    const access = {
      plainHttp: wordList(flags['plain-http'], ',') ?? [],
      caFile: flags['ca-file'],
      authFile: flags['auth-file'],
      env: process.env,
      signal: this.signal,
    };
    return stoppable(this.signal, 'Nothing was changed', async () => {
      const options = { open: await openOptions(flags.identity ?? []), access, now, signal: this.signal };
      await using opened = new AsyncDisposableStack();
      const [before, after] =
        flags.site === undefined
          ? await openBoth(args, options, only, opened)
          : await openSite(args, flags, options, opened);
      const diff = await compareSides(before, after, only, this.signal);
      this.logText(formatDiff(diff));
      if (!diff.same) process.exitCode = DIFFERS;
      return diff;
    });
  }
}

type Sides = readonly [before: Side, after: Side];

/** Opens both sides. A source is limited to the channels of the other side, because a registry has all channels of the fleet. */
const openBoth = async (
  { before, after }: { readonly before: string; readonly after?: string | undefined },
  options: SideOptions,
  only: readonly string[] | undefined,
  opened: AsyncDisposableStack,
): Promise<Sides> => {
  if (after === undefined) {
    throw new FleetError('USAGE', 'diff compares two places, and only one is named', {
      hint: 'Name two media, or one and --site with --from',
    });
  }
  const places = [await openPlace(before, options), await openPlace(after, options)] as const;
  for (const place of places) opened.use(place.kind === 'medium' ? place.side : place.source);
  const known = places.flatMap((place) => (place.kind === 'medium' ? channelsOf(place.side) : []));
  const wanted = only ?? (places.every(({ kind }) => kind === 'source') ? undefined : known);
  const toSide = async (place: (typeof places)[number]): Promise<Side> =>
    place.kind === 'medium' ? place.side : sideOfSource(place.source, wanted, options);
  return [await toSide(places[0]), await toSide(places[1])];
};

const channelsOf = ({ releases, bundles }: Side): readonly string[] => [
  ...new Set([...releases.keys(), ...bundles.map(({ channel }) => channel)]),
];

const openSite = async (
  { before: medium, after }: { readonly before: string; readonly after?: string | undefined },
  { site, from, report }: Flagged,
  options: SideOptions,
  opened: AsyncDisposableStack,
): Promise<Sides> => {
  if (after !== undefined) {
    throw new FleetError('USAGE', '--site compares the state of the site with one place, and two are named', {
      hint: 'Give the stick that came back as --report',
    });
  }
  const source = opened.use(await openSource(from ?? '', options.access));
  const there = await siteSide(source, {
    site: parseName(site ?? '', 'site'),
    report,
    open: options.open,
    now: options.now,
    ...defined({ signal: options.signal }),
  });
  const place = await openPlace(medium, options);
  opened.use(place.kind === 'medium' ? place.side : place.source);
  if (place.kind === 'medium') return [there, restrictTo(place.side, there)];
  return [there, await sideOfSource(place.source, channelsOf(there), options)];
};

/** Drops documents and bundles for other sites. */
const restrictTo = (side: Side, { releases }: Side): Side => ({
  ...side,
  releases: new Map([...side.releases].filter(([channel]) => releases.has(channel))),
  bundles: side.bundles.filter(({ channel }) => releases.has(channel)),
});
