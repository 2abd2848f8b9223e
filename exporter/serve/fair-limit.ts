import { type Limit, makeLimit } from '#bundles/transport/publish/limit';

/**
 * Runs at most `width` works at once, and at most `share` of one client, so that a client whose transfers are stuck does not block
 * others.
 */
export const fairLimit = (width: number, share: number): ((client: string) => Limit) => {
  const all = makeLimit(width);
  const clients = new Map<string, { readonly limit: Limit; works: number }>();
  return (client) => async (work) => {
    const own = clients.get(client) ?? { limit: makeLimit(share), works: 0 };
    clients.set(client, own);
    own.works += 1;
    try {
      // The client's own limit comes first: a work that waits for it takes no place of the common limit.
      return await own.limit(() => all(work));
    } finally {
      own.works -= 1;
      if (own.works === 0) clients.delete(client);
    }
  };
};
