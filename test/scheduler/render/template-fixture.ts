import { type FleetError, isFleetError } from '../../../bundles/errors.ts';
import { compileTemplate } from '../../../scheduler/render/compile-template.ts';
import type { TemplateContext } from '../../../scheduler/model/template-context.ts';
import {
  DEFAULT_LIMITS,
  type TemplateLimits,
  type TemplateSource,
} from '../../../scheduler/render/template-source.ts';

export const CONTEXT: TemplateContext = {
  deploymentTargetName: 'shop-web',
  namespace: 'dev-edge-shop-web',
  environment: 'dev',
  workspace: 'team-one',
  workload: 'shop',
  labels: { purpose: 'web', 'use-case': 'vote' },
  manifests: { repo: 'https://example.invalid/shop', path: './web' },
  clusterType: 'edge',
  clusterTypeLabels: { region: 'eu' },
  configData: {
    list: ['a', 'b'],
    nested: { a: 1, b: { c: 'deep' } },
    five: 5,
    text: 'one\ntwo\n',
    nothing: null,
    empty: '',
  },
};

type Options = { readonly source?: Partial<TemplateSource>; readonly limits?: Partial<TemplateLimits> };

const render = (
  engine: TemplateSource['engine'],
  text: string,
  configData: TemplateContext['configData'] | undefined,
  { source, limits }: Options,
): string =>
  compileTemplate(
    {
      engine,
      name: 'default',
      text,
      at: { file: 'templates/default.yaml', line: 9, column: 7 },
      indent: 6,
      ...source,
    },
    { ...DEFAULT_LIMITS, ...limits },
  )({ ...CONTEXT, configData: configData ?? CONTEXT.configData });

export const go = (text: string, configData?: TemplateContext['configData'], options: Options = {}): string =>
  render('go', text, configData, options);

export const handlebars = (
  text: string,
  configData?: TemplateContext['configData'],
  options: Options = {},
): string => render('handlebars', text, configData, options);

/** The FleetError of something that must fail. */
export const errorOf = (run: () => unknown): FleetError => {
  try {
    run();
  } catch (error) {
    if (isFleetError(error)) return error;
    throw error;
  }
  throw new Error('nothing failed');
};
