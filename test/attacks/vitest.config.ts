import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import everyday from '../../vitest.config.ts';

/** The tests as they always run, with somebody who watches what they see. */
const ROOT = join(import.meta.dirname, '..', '..');
const { projects = [] } = everyday.test ?? {};

export default defineConfig({
  root: ROOT,
  test: {
    projects: (projects as readonly TestProjectInlineConfiguration[]).map((project) => ({
      ...project,
      root: ROOT,
      test: { ...project.test, setupFiles: [join(import.meta.dirname, 'observe.ts')] },
    })),
  },
});
