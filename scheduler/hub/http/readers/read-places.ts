import type { FastifyRequest } from 'fastify';
import { parseName } from '#bundles/names';
import { type Page, parseLimit } from '../../page.ts';
import type { Visible } from '../../people/visible.ts';
import { visibleTo } from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import { readQuery } from './history-routes.ts';

type Places<More extends string> = {
  readonly filter: {
    readonly environment: string | undefined;
    readonly site: string | undefined;
    readonly visible: Visible | undefined;
  };
  readonly page: Page;
  /** The further parameters, not checked. */
  readonly query: { readonly [name in More]?: string };
};

/**
 * Reads the query of a list of things at sites: environment, site, limit and cursor, and what the caller may see.
 * @param more further parameters of the path
 * @throws FleetError USAGE, NAME_INVALID
 */
export const readPlaces = async <const More extends string = never>(
  request: FastifyRequest,
  context: Context,
  more: readonly More[] = [],
): Promise<Places<More>> => {
  const query = readQuery(request, ['environment', 'site', 'limit', 'cursor', ...more]);
  const { environment, site, limit, cursor } = query;
  return {
    filter: {
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      site: site === undefined ? undefined : parseName(site, 'site'),
      visible: await visibleTo(request, context),
    },
    page: { limit: parseLimit(limit), cursor },
    query,
  };
};
