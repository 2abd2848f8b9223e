import type { MediumNews } from '../daemon/medium-news.ts';

/** Sentence about the accepted contents of a medium, without its verb: 'release 7 of prod/line. Receipts for 12 events.' */
export const describeAccepted = (result: MediumNews): string => {
  const { release, news, selected, siteVersion, leaseVersion, acknowledged } = result;
  const receipts = acknowledged > 0 ? ` Receipts for ${acknowledged} events.` : '';
  const what = `site statement ${siteVersion}`;
  if (!release && leaseVersion !== undefined)
    return `lease ${leaseVersion} of the release that is here, and ${what}.${receipts}`;
  if (!release) return `${what}; no release for this machine.${receipts}`;
  const lease = leaseVersion === undefined ? '' : ` and its lease ${leaseVersion}`;
  const { environment, clusterType, version } = release;
  const again = news === 'same' ? ', imported before' : '';
  const left = selected ? '' : ' Its rollout does not select this machine yet, so nothing changes here.';
  return `release ${version} of ${environment}/${clusterType}${lease}${again}.${left}${receipts}`;
};
