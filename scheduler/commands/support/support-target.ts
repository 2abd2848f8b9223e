import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import type { SupportTarget } from '../../hub/support/request-support.ts';

/** 'plant-7' or 'plant-7/press-1'. @throws FleetError USAGE, NAME_INVALID */
export const parseSupportTarget = (text: string): SupportTarget => {
  const [site = '', agent, ...rest] = text.split('/');
  if (rest.length > 0)
    throw new FleetError(
      'USAGE',
      `${JSON.stringify(text.slice(0, 160))} is neither a site nor <site>/<agent>`,
    );
  return {
    site: parseName(site, 'site'),
    agent: agent === undefined ? undefined : parseName(agent, 'agent'),
  };
};
