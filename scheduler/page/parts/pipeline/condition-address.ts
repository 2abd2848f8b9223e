type Gate = { readonly from: string; readonly to: string };

/** Address of what a condition of a gate is about: agents, approvals, releases, or the policy that sets it. @param name 'soak', 'required region=north', 'check load-test' */
export const conditionAddress = (name: string, { from, to }: Gate): string => {
  const sites = `/sites?environment=${encodeURIComponent(from)}`;
  const [kind = ''] = name.split(' ');
  switch (kind) {
    case 'compliance':
    case 'at':
    case 'required':
    case 'freshness':
    case 'absent':
    case 'soak':
      return sites;
    case 'failures':
      return `${sites}&verdict=failed`;
    case 'drift':
      return `${sites}&verdict=drifted`;
    case 'approvals':
      return `/audit?environment=${encodeURIComponent(to)}&kind=approval`;
    case 'released':
    case 'held':
      return `/workloads?environment=${encodeURIComponent(from)}`;
    default:
      // Windows, freezes, external checks and attestations.
      return '/platform';
  }
};
