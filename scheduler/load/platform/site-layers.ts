import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError, formatPlace } from '#bundles/errors';
import { allowsName } from '#bundles/formats/bounds/package-bounds';
import { inParallel } from '#bundles/in-parallel';
import { labelCount } from '../../model/label-count.ts';
import type { Location } from '../../model/location.ts';
import type {
  DeclaredSite,
  Labels,
  Platform,
  SiteLayer,
  SourceSnapshot,
  UnreadLayers,
} from '../../model/model.ts';
import { collectProblems, createProblems } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import { type ObjectOf, ofKind, type RepositoryFolder } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import type { Sources } from '../sources/open-sources.ts';
import { refuseClashes } from './check-clashes.ts';
import type { Placed } from './config-layers.ts';

/** Configuration of sites: of the platform itself, and of the registered repositories of teams. */
export type SiteLayers = Pick<Platform, 'siteLayers' | 'declaredSites' | 'unreadLayers'> & {
  readonly snapshots: readonly SourceSnapshot[];
  /** Sites that are declared twice. Of each the first declaration counts. */
  readonly advice: readonly FleetError[];
};

type Locate = (folder: RepositoryFolder) => { location: Location; path: string };

/**
 * Reads the layers that select sites, and the declared sites. A mistake in a registered repository concerns the sites that its
 * registration selects, and blocks nobody else.
 * @param prefixes of the files of the platform in messages
 */
export const readSiteLayers = async (
  sources: Sources,
  placed: readonly Placed[],
  prefixes: readonly string[],
  locate: Locate,
): Promise<SiteLayers> => {
  const pathOf = ({ at: { file } }: Placed['object']): string =>
    file.slice(prefixes.find((prefix) => file.startsWith(prefix))?.length ?? 0);
  const own = placed.flatMap(({ object, from }) => layersOf(object, from, pathOf(object)));
  const registered = placed
    .flatMap(({ object, from }) => ofKind([object], 'ConfigRegistration').map((one) => ({ one, from })))
    .toSorted((a, b) => compareBytes(a.one.name, b.one.name));
  const read = await inParallel(registered, WIDTH, ({ one, from }) =>
    readRegistered(sources, one, from, locate),
  );
  const declared = [
    ...ofKind(
      placed.map(({ object }) => object),
      'Site',
    ).map((one) => ({ ...one.site, path: pathOf(one) })),
    ...read.flatMap(({ sites }) => sites),
  ];
  const { sites, advice } = eachSiteOnce(declared);
  const layers = [...own, ...read.flatMap((one) => one.layers)].toSorted(bySpecificity);
  const unread = read.flatMap((one) => one.unread ?? []);
  return defined({
    siteLayers: layers.length > 0 ? layers : undefined,
    declaredSites: sites.length > 0 ? sites : undefined,
    unreadLayers: unread.length > 0 ? unread : undefined,
    snapshots: read.flatMap((one) => one.snapshots),
    advice: [...advice, ...unread.flatMap(({ errors }) => errors)],
  });
};

/** Number of repositories read at the same time. */
const WIDTH = 16;

/** Base before environment, then fewer selecting labels before more. Equal ones are in an order only for equal results: they must not differ. */
const bySpecificity = (a: SiteLayer, b: SiteLayer): number => {
  if (a.from !== b.from) return a.from === 'base' ? -1 : 1;
  return labelCount(a) - labelCount(b) || compareBytes(a.name, b.name);
};

const layersOf = (object: Placed['object'], from: Placed['from'], path: string): readonly SiteLayer[] =>
  ofKind([object], 'Config').flatMap(({ name, config, at }) => {
    const { siteSelector, fixed = false, ...rest } = config;
    return siteSelector ? [{ name, ...rest, siteSelector, fixed, from, path, at }] : [];
  });

type Registered = {
  readonly layers: readonly SiteLayer[];
  readonly sites: readonly DeclaredSite[];
  readonly snapshots: readonly SourceSnapshot[];
  readonly unread: UnreadLayers | undefined;
};

const readRegistered = async (
  sources: Sources,
  registration: ObjectOf<'ConfigRegistration'>,
  from: Placed['from'],
  locate: Locate,
): Promise<Registered> => {
  const { name, siteSelector, at } = registration;
  const problems = createProblems();
  const source = await collectProblems(problems, () =>
    sources.read({ role: `config/${name}`, ...locate(registration.config) }),
  );
  const objects = source ? refuseClashes(readObjects(source, problems.found), problems.found) : [];
  const pathOf = (file: string): string => `config/${name}:${file.slice(source?.prefix.length ?? 0)}`;
  const layers: SiteLayer[] = [];
  const sites: DeclaredSite[] = [];
  for (const object of objects) {
    const subject = `${object.kind} ${object.name}`;
    const refuse = (message: string, hint: string): void => {
      problems.found.push(new FleetError('OUT_OF_BOUNDS', message, { subject, at: object.at, hint }));
    };
    if (object.kind === 'Config') {
      const { siteSelector: own, fixed = false, ...rest } = object.config;
      const foreign = Object.keys(siteSelector).find(
        (key) => (own?.[key] ?? siteSelector[key]) !== siteSelector[key],
      );
      if (foreign !== undefined)
        refuse(
          `it selects ${foreign}=${own?.[foreign]}, and ConfigRegistration ${name} grants only ${foreign}=${siteSelector[foreign]}`,
          `Leave ${foreign} out of its siteSelector`,
        );
      if (fixed)
        refuse(
          'its values are fixed, so they override those of people and of the platform',
          'Leave fixed out, or let the platform team bring the Config',
        );
      layers.push({
        ...rest,
        name: `${name}/${object.name}`,
        siteSelector: { ...own, ...siteSelector },
        fixed,
        from,
        path: pathOf(object.at.file),
        at: object.at,
      });
    } else if (object.kind === 'Site') {
      const lacking = lackingLabel(object.site, siteSelector);
      if (!allowsName(registration.sites, object.name))
        refuse(
          `ConfigRegistration ${name} may not declare the site ${object.name}`,
          'Let the platform team grant it under spec.sites of the registration, or declare it',
        );
      else if (lacking !== undefined)
        refuse(
          `it lacks the label ${lacking}, which ConfigRegistration ${name} selects by`,
          `Add ${lacking} to its labels`,
        );
      sites.push({ ...object.site, path: pathOf(object.at.file) });
    } else {
      problems.found.push(
        new FleetError('UNKNOWN_KIND', `a ${object.kind} cannot come from a repository of configuration`, {
          subject,
          at: object.at,
          hint: 'Only Config and Site can; move it to the platform repository',
        }),
      );
    }
  }
  const snapshots = source ? [source.snapshot] : [];
  if (problems.found.length === 0) return { layers, sites, snapshots, unread: undefined };
  const errors = problems.found.map((error) =>
    withPlace(error, registration.repositoryAt ?? at, `ConfigRegistration ${name}`),
  );
  return { layers: [], sites: [], snapshots, unread: { registration: name, siteSelector, at, errors } };
};

/** 'region=north' */
const lackingLabel = (
  { name, labels }: Pick<DeclaredSite, 'name' | 'labels'>,
  wanted: Labels,
): string | undefined =>
  Object.entries(wanted)
    .find(([key, value]) => key !== 'agent' && (key === 'site' ? name : labels[key]) !== value)
    ?.join('=');

const eachSiteOnce = (
  declared: readonly DeclaredSite[],
): { readonly sites: readonly DeclaredSite[]; readonly advice: readonly FleetError[] } => {
  const first = new Map<string, DeclaredSite>();
  const advice: FleetError[] = [];
  for (const site of declared) {
    const other = first.get(site.name);
    if (!other) first.set(site.name, site);
    else
      advice.push(
        new FleetError(
          'NAME_CLASH',
          `Site ${site.name} is declared twice, first at ${formatPlace(other.at)}, which counts`,
          { subject: `Site ${site.name}`, at: site.at, hint: 'Remove one of the two' },
        ),
      );
  }
  return { sites: [...first.values()].toSorted((a, b) => compareBytes(a.name, b.name)), advice };
};
