import { type Limit, makeLimit } from '#bundles/transport/publish/limit';

/**
 * Lets at most `width` works run at once, and of one client at most `share`: one that is stuck with all it asked for holds up
 * nobody but itself.
 */
export const fairLimit = (width: number, share: number): ((client: string) => Limit) => {
  const all = makeLimit(width);
  const clients = new Map<string, { readonly limit: Limit; works: number }>();
  return (client) => async (work) => {
    const own = clients.get(client) ?? { limit: makeLimit(share), works: 0 };
    clients.set(client, own);
    own.works += 1;
    try {
      // First its own turn: who waits for that takes no place from the others.
      return await own.limit(() => all(work));
    } finally {
      own.works -= 1;
      if (own.works === 0) clients.delete(client);
    }
  };
};
