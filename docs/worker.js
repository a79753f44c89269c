// A page that is opened as a file may not start a worker. The search runs in a hidden frame there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.frame = frame.contentWindow;
      // What a worker posts goes to its page, not to itself.
      this.toFrame = this.frame.postMessage.bind(this.frame);
      this.frame.postMessage = data => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(address, location.href);
      this.loaded = new Promise(done => { script.onload = done; });
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      this.loaded.then(() => this.toFrame(data, "*"));
    }

    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
