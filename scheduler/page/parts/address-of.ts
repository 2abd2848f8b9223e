import type { Search } from '#bundles/schemas/types/hub-decisions';

/** Address of the form for values of a site, or of one of its agents. */
export const valuesAddress = (site: string, agent: string | null): string =>
  `/values/${site}${agent === null ? '' : `?agent=${agent}`}`;

/** Address of the most detailed view of a result. */
export const addressOf = ({ kind, name, in: place }: Search['found'][number]): string => {
  const of = encodeURIComponent;
  switch (kind) {
    case 'environment':
      return `/workloads?environment=${of(name)}`;
    case 'site':
      return `/sites/${of(name)}`;
    case 'agent':
      return `/sites/${of(name.split('/')[0] ?? '')}`;
    case 'workload':
    case 'assignment':
      return `/workloads/${of(kind === 'assignment' ? (place ?? name) : name)}`;
    case 'package':
      return `/where?name=${of(place ?? '')}`;
    case 'release':
    case 'candidate':
    case 'bundle':
      return `/audit?environment=${of((kind === 'release' ? name : (place ?? '')).split('/')[0] ?? '')}`;
  }
};
