import { moduleFile } from './module-files.ts';

/** Live objects, and the health that Argo CD's engine gives them. */
export const gitopsEngine = moduleFile({
  title: 'health cases of gitops-engine',
  variable: 'FLEET_GITOPS_ENGINE_HEALTH',
  name: 'gitops-engine',
  module: 'github.com/argoproj/gitops-engine@v0.7.3',
  path: 'pkg/health',
});
