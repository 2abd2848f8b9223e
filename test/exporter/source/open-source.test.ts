import { describe, expect, it } from 'vitest';
import { openSource } from '../../../exporter/source/open-source.ts';

describe('where releases come from', () => {
  it.each(['localhost:5000/fleet', 'registry.example/fleet', 'registry.example:443/team/fleet'])(
    'is asked whether it is a registry, without the scheme: %s',
    async (where) => {
      await expect(openSource(where)).rejects.toMatchObject({
        code: 'USAGE',
        hint: `Is it a registry? Then write oci://${where}`,
      });
    },
  );

  it.each(['releases', './releases/prod', '/srv/fleet.d/releases', '../out.old/layout'])(
    'is a folder, which is missing: %s',
    async (where) => {
      await expect(openSource(where)).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
    },
  );
});
