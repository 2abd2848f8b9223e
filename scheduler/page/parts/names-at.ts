import type { Where } from '#bundles/schemas/types/hub-decisions';

/**
 * Versions that run at a site, by '<agent> <assignment>', as people say them.
 * @param where what runs under the name of the site, which may also be the name of a workload at other sites
 */
export const namesAt = (site: string, { agents }: Pick<Where, 'agents'>): ReadonlyMap<string, string> =>
  new Map(
    agents
      .filter((one) => one.site === site)
      .flatMap(({ agent, running }) =>
        running.map(
          ({ assignment, name }) => [`${agent.slice(site.length + 1)} ${assignment}`, name] as const,
        ),
      ),
  );
