import type { IconName } from './icons.ts';

export type Place = {
  /** Address below /ui, which is the first part of the addresses of its details. */
  readonly to: string;
  readonly title: string;
  readonly icon: IconName;
  /** The view shows one environment if its address has `?environment=`. */
  readonly isScoped?: boolean;
};

export type PlaceGroup = { readonly title: string | null; readonly places: readonly Place[] };

/** The side bar, in its order. */
export const PLACES: readonly PlaceGroup[] = [
  {
    title: null,
    places: [
      { to: '/', title: 'Overview', icon: 'overview', isScoped: true },
      { to: '/alarms', title: 'Alarms', icon: 'alarms', isScoped: true },
    ],
  },
  {
    title: 'What runs',
    places: [
      { to: '/sites', title: 'Sites', icon: 'sites', isScoped: true },
      { to: '/workloads', title: 'Workloads', icon: 'workloads', isScoped: true },
      { to: '/where', title: 'What runs where', icon: 'where' },
      { to: '/compare', title: 'Compare', icon: 'compare' },
    ],
  },
  {
    title: 'What moves',
    places: [
      { to: '/pipeline', title: 'Pipeline', icon: 'pipeline' },
      { to: '/rollouts', title: 'Rollouts', icon: 'rollouts' },
      { to: '/media', title: 'Media', icon: 'media', isScoped: true },
    ],
  },
  {
    title: 'What is set',
    places: [
      { to: '/values', title: 'Values', icon: 'values' },
      { to: '/platform', title: 'Platform', icon: 'platform' },
    ],
  },
  {
    title: 'Who did what',
    places: [
      { to: '/audit', title: 'Audit log', icon: 'audit', isScoped: true },
      { to: '/sessions', title: 'Sessions', icon: 'sessions' },
    ],
  },
];

export const ALL_PLACES: readonly Place[] = PLACES.flatMap(({ places }) => places);

/** Views that only links and the search lead to. */
const MORE: Readonly<Record<string, string>> = { search: 'Search' };

/** The place that a path is part of. @param path below /ui, '/sites/plant-7' */
export const placeOf = (path: string): Place | undefined =>
  ALL_PLACES.find(({ to }) => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)));

export type Crumb = {
  readonly title: string;
  /** undefined: the view itself, or no view. */
  readonly to?: string;
};

/**
 * From the overview to a view: 'Overview', 'Sites', 'plant-7', 'press-1', 'oven'.
 * @param path below /ui
 */
export const crumbsOf = (path: string): readonly Crumb[] => {
  const parts = path.split('/').filter((part) => part !== '');
  const [first = '', ...names] = parts.map((part) => decoded(part));
  const home = { title: 'Overview', to: '/' };
  if (first === '') return [{ title: 'Overview' }];
  const place = placeOf(`/${first}`);
  const crumbs: Crumb[] = [
    home,
    place === undefined ? { title: MORE[first] ?? first } : { title: place.title, to: place.to },
  ];
  if (parts.join('/') === 'platform/edit') return [...crumbs, { title: 'Edit' }];
  // '/values/select/sites' is the form for many sites.
  if (parts.slice(0, 3).join('/') === 'values/select/sites') return [...crumbs, { title: 'Many sites' }];
  for (const [at, name] of names.entries()) {
    const to = `/${parts.slice(0, at + 2).join('/')}`;
    // An agent is a part of the view of its site.
    crumbs.push(
      first === 'sites' && at === 1
        ? { title: name, to: `/${parts.slice(0, 2).join('/')}` }
        : { title: name, to },
    );
  }
  return crumbs.map((crumb, at) => (at === crumbs.length - 1 ? { title: crumb.title } : crumb));
};

/** A part of an address that is no text is shown as it is. */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};
