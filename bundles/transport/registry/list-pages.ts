import { FleetError } from '../../errors.ts';
import { isRecord } from '../../is-record.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import type { TokenScope } from './http/authorize.ts';
import type { Client, ClientAsk } from './http/client.ts';
import { discard } from './http/exchange.ts';
import { readBody } from './http/read-body.ts';

const MAX_PAGE_BYTES = 32 << 20;
const MAX_ITEMS = 1_000_000;
/** Upper bound on consecutive pages without new items: registries that filter have a few, a cycle has no others. */
const MAX_IDLE_PAGES = 10;

export type Listing<Item> = {
  readonly doing: string;
  /** Path of the list, below /v2/. */
  readonly path: string;
  /** Keys asked for a page (`n`), and continued after (`last`); undefined: the list has no such parameters. */
  readonly pageSize?: number;
  /** Returns the items of one page by a unique key; undefined if the page is invalid. */
  readonly items: (page: Record<string, unknown>) => ReadonlyMap<string, Item> | undefined;
  readonly signal: AbortSignal | undefined;
};

/**
 * Reads all pages of a list (OCI distribution spec 1.1, "Listing Tags"); undefined for 404.
 * @throws FleetError TOO_MANY, TOO_LARGE, REGISTRY_REFUSED
 */
export const listPages = async <Item>(
  { client, scope }: { readonly client: Pick<Client, 'ask'>; readonly scope: TokenScope },
  { doing, path: list, pageSize, items, signal }: Listing<Item>,
): Promise<readonly Item[] | undefined> => {
  const found = new Map<string, Item>();
  const seen = new Set<string>();
  let idle = 0;
  let next: string | URL | undefined = pageSize === undefined ? list : `${list}?n=${pageSize}`;
  while (next !== undefined) {
    const ask: ClientAsk = { doing, method: 'GET', path: next, accept: [200, 404], scope, signal };
    const page = await client.ask(ask, async (answer) => {
      if (answer.status === 404) {
        await discard(answer);
        return undefined;
      }
      const link = nextPageOf(answer.header('link') ?? '');
      return {
        link,
        url: answer.url,
        items: parsePage(await readBody(answer, MAX_PAGE_BYTES, 'a page'), items),
      };
    });
    if (!page) return seen.size === 0 ? undefined : [...found.values()];
    if (!page.items) throw refused(doing, 'did not answer with such a list');
    const before = found.size;
    for (const [key, item] of page.items) found.set(key, item);
    if (found.size > MAX_ITEMS)
      throw new FleetError('TOO_MANY', `${doing}: there are more than ${MAX_ITEMS}`);
    idle = found.size > before ? 0 : idle + 1;
    seen.add(page.url.href);
    next =
      page.link === undefined
        ? afterCut({ path: list, pageSize }, [...page.items.keys()], idle)
        : followed(page.link, page.url, doing);
    if (next instanceof URL && (seen.has(next.href) || idle > MAX_IDLE_PAGES))
      throw refused(doing, 'repeats a page of its list');
  }
  return [...found.values()];
};

/**
 * The next page of a list without a Link: go-containerregistry's registry cuts one at `n` and says nothing. One that ignores `last`
 * repeats what it said, and so a page without new items is the last one.
 */
const afterCut = (
  { path, pageSize }: Pick<Listing<unknown>, 'path' | 'pageSize'>,
  keys: readonly string[],
  idle: number,
): string | undefined =>
  keys.length === pageSize && idle === 0
    ? `${path}?n=${pageSize}&last=${encodeURIComponent(keys.at(-1) ?? '')}`
    : undefined;

/** Resolves the link of the next page, which must be on the same host. */
const followed = (link: string, from: URL, doing: string): URL => {
  const next = URL.parse(link, from.href);
  if (next?.host !== from.host) throw refused(doing, 'names a next page on another host');
  return new URL(`${next.pathname}${next.search}`, from);
};

const parsePage = <Item>(
  bytes: Buffer,
  items: Listing<Item>['items'],
): ReadonlyMap<string, Item> | undefined => {
  try {
    const page = parseStrictJson(bytes, { maxBytes: MAX_PAGE_BYTES });
    return isRecord(page) ? items(page) : undefined;
  } catch {
    return undefined;
  }
};

const refused = (doing: string, what: string): FleetError =>
  new FleetError('REGISTRY_REFUSED', `${doing}: the registry ${what}`, {
    hint: 'Check that the address is that of a registry and not of something before it',
  });

const LINK = /\s*<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+))?)*)\s*(?:,|$)/sy;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i;

/** The unresolved target of `rel=next` in a Link header (RFC 8288), absolute or relative. */
export const nextPageOf = (link: string): string | undefined => {
  LINK.lastIndex = 0;
  for (let match = LINK.exec(link); match; match = LINK.exec(link)) {
    const rel = REL.exec(match[2] ?? '');
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) return match[1];
    if (LINK.lastIndex >= link.length) return undefined;
  }
  return undefined;
};
