import { describe, expect, it } from 'vitest';
import { formatError } from '#bundles/errors';
import { kustomizeFailed } from '../../../../scheduler/load/applications/kustomize-faults.ts';

const TREE = new Map(
  ['over/kustomization.yaml', 'base/kustomization.yml', 'base/d.yaml'].map((path) => [path, Buffer.alloc(0)]),
);
const said = (text: string): string =>
  formatError(kustomizeFailed(text, TREE, (file) => `apps/${file}`, 'shop-web'));
const DOWN =
  "Error: accumulating resources: accumulation err='accumulating resources from '../over': 'over' must resolve to a file': recursed accumulation of path 'over': ";

describe('an error of kustomize', () => {
  it('is reported at the kustomization that must be corrected', () => {
    expect(said(`${DOWN}no resource matches strategic merge patch "Service.v1.[noGrp]/a.[noNs]"\n`)).toBe(
      'apps/over/kustomization.yaml: TEMPLATE_FAILED: shop-web: kustomize could not build it: no resource matches strategic merge patch "Service.v1.[noGrp]/a.[noNs]"',
    );
    expect(
      said(
        "Error: accumulating resources: accumulation err='accumulating resources from '../over': 'over' must resolve to a file': couldn't make target for path 'over': invalid Kustomization: json: unknown field \"namePrefx\"",
      ),
    ).toMatch(/^apps\/over\/kustomization\.yaml: .* unknown field "namePrefx"/);
  });

  it('is reported at the unreadable file, at any depth', () => {
    expect(
      said(
        `${DOWN}accumulating resources: accumulation err='accumulating resources from '../base': 'base' must resolve to a file': recursed accumulation of path 'base': accumulating resources: accumulating resources from 'd.yaml': MalformedYAMLError: yaml: line 1: did not find ','`,
      ),
    ).toMatch(
      /^apps\/base\/d\.yaml: TEMPLATE_FAILED: shop-web: kustomize could not build it: MalformedYAMLError/,
    );
  });

  it('is reported with all its lines', () => {
    expect(
      said(`${DOWN}trouble configuring PatchTransformer with config: \`\npath: ../b.yaml\n\`: security; no`),
    ).toContain('with config: ` path: ../b.yaml `: security; no');
    expect(said('Error: something else')).toBe(
      'TEMPLATE_FAILED: shop-web: kustomize could not build it: something else',
    );
  });
});
