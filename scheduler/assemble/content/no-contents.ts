import { FleetError } from '#bundles/errors';
import type { Contents, FetchContent } from './content.ts';

/** Contents for commands that must not use the network. */
export const noFetch: FetchContent = async (url) => {
  throw notFetched(url);
};

/** Contents for commands without a cache. */
export const noContents: Contents = async ({ url }) => {
  throw notFetched(url);
};

const notFetched = (url: string): FleetError =>
  new FleetError('SOURCE_UNREACHABLE', `${url} is not fetched here`, {
    hint: 'Run fleet-scheduler build or images lock here: they fetch it into the cache, which keeps it until no run has used it for 30 days',
  });
