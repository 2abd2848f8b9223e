/** The facts about a chosen site that commands use. */
export type ChosenSite = { readonly name: string; readonly channels: readonly string[] };

type Bulk = {
  readonly title: string;
  /** Lines for a shell. */
  readonly commands: (sites: readonly ChosenSite[]) => readonly string[];
};

const named = (sites: readonly ChosenSite[]): string => sites.map(({ name }) => `--site ${name}`).join(' ');

/** A channel that a follower of the site can take. */
const channelOf = ({ channels: [only, another] }: ChosenSite): string =>
  only === undefined || another !== undefined ? 'ENVIRONMENT/TYPE' : only;

/** Commands for several sites. The page has no key of the office, which signs what they do. */
export const BULK = {
  fill: {
    title: 'Fill a medium for them',
    commands: (sites) => [`fleet-export create --from releases ${named(sites)} --to /media/stick`],
  },
  enrol: {
    title: 'Enrol their agents from a medium',
    commands: (sites) => sites.map(({ name }) => `fleet-scheduler sites enroll /media/stick --site ${name}`),
  },
  follow: {
    title: 'Follow by Flux',
    commands: (sites) =>
      sites.map(
        (site) => `fleet-scheduler sites follow ${site.name}/NAME --by flux --channel ${channelOf(site)}`,
      ),
  },
  renew: {
    title: 'Renew their values and statements',
    commands: (sites) => [
      // The medium takes what was renewed.
      'fleet-scheduler sites renew',
      `fleet-export create --from releases ${named(sites)} --values-only --to /media/stick`,
    ],
  },
} as const satisfies Readonly<Record<string, Bulk>>;

export type BulkVerb = keyof typeof BULK;
