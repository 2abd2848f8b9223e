import { given } from './ask.ts';

type Asked = { readonly environment?: string; readonly cursor?: string };

/**
 * Reads an answer whose rows the page filters, so that choices are counted among all of them. Only where one answer does not have all does
 * the hub filter by environment.
 */
export const readNarrowed = async <T extends { readonly next: string | null }>(
  query: URLSearchParams,
  read: (asked: Asked) => Promise<T>,
): Promise<T> => {
  const environment = query.get('environment');
  const cursor = query.get('cursor');
  if (cursor === null || environment === null) {
    const all = await read(given({ cursor }));
    if (environment === null || all.next === null) return all;
  }
  return read(given({ environment, cursor }));
};
