import { describe, expect, it } from 'vitest';
import { openSource } from '../../../exporter/source/open-source.ts';

describe('openSource', () => {
  it.each(['localhost:5000/fleet', 'registry.example/fleet', 'registry.example:443/team/fleet'])(
    'hints at oci:// for an address without a scheme: %s',
    async (where) => {
      await expect(openSource(where)).rejects.toMatchObject({
        code: 'USAGE',
        hint: `If it is a registry, write oci://${where}`,
      });
    },
  );

  it.each(['releases', './releases/prod', '/srv/fleet.d/releases', '../out.old/layout'])(
    'refuses a missing folder: %s',
    async (where) => {
      await expect(openSource(where)).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
    },
  );
});
