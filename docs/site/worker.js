// The search runs in a worker, which browsers do not start from file://. For such addresses, a
// hidden frame runs the script of the worker, and both exchange messages as events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      this.inside = frame.contentWindow
      // The script of the worker calls these functions
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = (...urls) => urls.forEach(each => this.load(each))
      this.load(url).onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
    }

    load(url) {
      const script = this.inside.document.createElement("script")
      script.src = url
      script.async = false
      this.inside.document.documentElement.append(script)
      return script
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
