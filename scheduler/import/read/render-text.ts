import type { Place } from '#bundles/errors';
import { compileTemplate } from '../../render/compile-template.ts';
import type { TemplateContext } from '../../model/template-context.ts';
import type { Manifest } from '../imported.ts';

const CONTEXT: TemplateContext = {
  deploymentTargetName: '',
  namespace: '',
  environment: '',
  workspace: '',
  workload: '',
  labels: {},
  manifests: {},
  clusterType: '',
  clusterTypeLabels: {},
  configData: {},
};

/**
 * Renders a Go template whose dot is `values`.
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_FAILED, TEMPLATE_LIMIT
 */
export const renderGo = (text: string, values: Manifest, name: string, at: Place): string =>
  text.includes('{{')
    ? compileTemplate({
        engine: 'go',
        name,
        text: `{{define "imported"}}${text}{{end}}{{template "imported" .ConfigData}}`,
        at: { file: at.file },
      })({ ...CONTEXT, configData: values as TemplateContext['configData'] })
    : text;
