import type { RenderedFile } from '../platform/model.ts';
import { fill, type Mould } from './remember-renders.ts';
import type { TemplateContext } from './template-context.ts';

/**
 * A rendered file whose bytes are made when somebody wants them: a bundle is made of the mould. A class, because a fleet has
 * 150,000 of them and each is one small object.
 */
export class MadeFile implements RenderedFile {
  readonly path: string;
  readonly mould: Mould;
  readonly context: TemplateContext;

  constructor(path: string, mould: Mould, context: TemplateContext) {
    this.path = path;
    this.mould = mould;
    this.context = context;
  }

  get bytes(): Buffer {
    return Buffer.from(fill(this.mould, this.context));
  }

  get from(): RenderedFile['from'] {
    return this;
  }
}
