import type { Media } from '#bundles/schemas/types/hub-decisions';

/** The agents of one channel that wait for a medium with its newest release. */
export type NextMedium = {
  readonly channel: string;
  readonly version: number;
  readonly sites: readonly string[];
  readonly overdue: number;
  /** Lists the content of the next medium, and its size. */
  readonly command: string;
};

type Carried = Media['agents'][number];

/** Whether an agent has not said that it imported the newest release of its channel. */
export const isAwaited = ({ accepted, newest, channel }: Carried): boolean =>
  newest !== null && (accepted?.channel !== channel || accepted.version < newest.version);

/** Sites that one command names; more of them take the whole channel. */
const MAX_NAMED = 20;

/** Content that the next media have to carry, by channel, those with overdue visits first. */
export const nextMedia = (agents: readonly Carried[]): readonly NextMedium[] =>
  [...Map.groupBy(agents.filter(isAwaited), ({ channel }) => channel)]
    .map(([channel, of]): NextMedium => {
      const sites = [...new Set(of.map(({ site }) => site))];
      // What a site has is known from the reports that came back from it.
      const known = new Set(of.flatMap(({ site, back }) => (back === null ? [] : [site])));
      const named =
        sites.length > MAX_NAMED
          ? []
          : sites.flatMap((site) => [`--site ${site}`, ...(known.has(site) ? [`--for site:${site}`] : [])]);
      return {
        channel,
        version: of[0]?.newest?.version ?? 0,
        sites,
        overdue: of.filter(({ visit }) => visit?.isOverdue === true).length,
        command: [
          'fleet-export plan --from releases',
          `--channel ${channel}`,
          ...named,
          '--to /media/stick',
        ].join(' '),
      };
    })
    .toSorted((a, b) => b.overdue - a.overdue || b.sites.length - a.sites.length);
